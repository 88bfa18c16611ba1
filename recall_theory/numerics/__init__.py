"""Methods of numerical computation that know no model: quadrature, forced choice, searches for thresholds."""
