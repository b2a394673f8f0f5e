"""Flight Recorder dumps to rows."""
