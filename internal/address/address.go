// Package address parses network addresses from requests and connections. It resolves
// and decides nothing. Its callers are rate limits, audit records, logs, and code
// that connects to addresses given by others.
package address

import "net"

// Host returns an address without its port, which does not identify the peer. An
// address without a port is returned unchanged.
func Host(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}
