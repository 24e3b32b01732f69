"""Messages of protocol buffers, and of pprof: what a format and sources share."""
