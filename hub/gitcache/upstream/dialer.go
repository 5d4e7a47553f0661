package upstream

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
)

// Dialer connects to upstreams. It looks at each address after the name was
// resolved and right before the connection, so that no name, and no second
// answer of a name server, leads into the hub's own network.
type Dialer struct {
	// Allow lists the only internal addresses that may be reached.
	Allow []netip.Prefix
	// Resolver finds the addresses of names; nil is the machine's.
	Resolver *net.Resolver
}

func (d *Dialer) resolver() *net.Resolver {
	if d.Resolver != nil {
		return d.Resolver
	}
	return net.DefaultResolver
}

// internal are the ranges that IsPrivate and its like do not know.
var internal = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // carrier NAT, and the metadata service of some clouds
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.88.99.0/24"),  // relays of 6to4
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved
	netip.MustParsePrefix("::/96"),           // IPv4, compatible
	netip.MustParsePrefix("::ffff:0:0:0/96"), // IPv4, translated
	netip.MustParsePrefix("64:ff9b::/96"),    // IPv4 behind NAT64
	netip.MustParsePrefix("64:ff9b:1::/48"),  // the same, of a network's own
	netip.MustParsePrefix("100::/64"),        // discarded
	netip.MustParsePrefix("2001::/23"),       // protocol assignments: IPv4 behind Teredo, benchmarks, identifiers
	netip.MustParsePrefix("2002::/16"),       // IPv4 behind 6to4
	netip.MustParsePrefix("5f00::/16"),       // segments of routes
	netip.MustParsePrefix("fec0::/10"),       // sites
}

// Check returns errcode.Forbidden for an address that no upstream may have.
func (d *Dialer) Check(addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	for _, p := range d.Allow {
		if p.Contains(addr) {
			return nil
		}
	}
	inside := addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast() || addr.IsMulticast() || addr.IsUnspecified() || !addr.IsValid()
	for _, p := range internal {
		inside = inside || p.Contains(addr)
	}
	if inside {
		return errcode.New(errcode.Forbidden, "upstream address %s is internal; name it in --allow-upstream-cidrs if it is meant", addr)
	}
	return nil
}

// DialContext connects to addr if its address is allowed.
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	nd := net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second, Resolver: d.Resolver,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("connect to %q: %w", address, err)
			}
			return d.Check(ap.Addr())
		}}
	return nd.DialContext(ctx, network, addr)
}
