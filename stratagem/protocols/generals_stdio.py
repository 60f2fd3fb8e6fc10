"""The competition protocol on stdin and stdout: our bots for other hosts, and a host for other bots."""
