package upstream

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/errcode"
)

// Dialer connects to upstreams. It checks each address after the name was
// resolved and right before the connection, so that no name, and no second DNS
// answer, leads into the hub's own network.
type Dialer struct {
	// Allow lists the only internal addresses that are allowed.
	Allow []netip.Prefix
	// Hosts are those, as HOST:PORT, that may have any address.
	Hosts []string
	// Resolver resolves names; nil is the machine's resolver.
	Resolver *net.Resolver
}

// Lookup returns the addresses of a name.
func (d *Dialer) Lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	r := d.Resolver
	if r == nil {
		r = net.DefaultResolver
	}
	return r.LookupNetIP(ctx, "ip", name)
}

// Check returns errcode.Forbidden for an address that no upstream may have.
func (d *Dialer) Check(addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	for _, p := range d.Allow {
		if p.Contains(addr) {
			return nil
		}
	}
	if address.Internal(addr) {
		return errcode.New(errcode.Forbidden, "upstream address %s is internal; if it is intended, add it to --allow-upstream-cidrs", addr)
	}
	return nil
}

// Allowed reports whether a host, as HOST:PORT, may have any address.
func (d *Dialer) Allowed(host string) bool {
	return slices.ContainsFunc(d.Hosts, func(allowed string) bool { return strings.EqualFold(allowed, host) })
}

// DialContext connects to addr if its address is allowed.
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	nd := net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second, Resolver: d.Resolver,
		ControlContext: func(_ context.Context, _, to string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(to)
			if err != nil {
				return fmt.Errorf("connect to %q: %w", to, err)
			}
			if d.Allowed(addr) {
				return nil
			}
			return d.Check(ap.Addr())
		}}
	return nd.DialContext(ctx, network, addr)
}
