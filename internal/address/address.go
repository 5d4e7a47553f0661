// Package address reads network addresses as the edges meet them. It resolves
// nothing and decides nothing; limits, audit records and logs call it, and what
// connects to places that others name.
package address

import "net"

// Host is an address without its port, which says nothing of who is there; an
// address without one is returned as it is.
func Host(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}
