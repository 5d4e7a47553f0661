package pool

import (
	"cmp"
	"context"
	"net/netip"

	"github.com/axle-cd/axle/internal/address"
)

// Caller is who gets a share.
type Caller struct {
	// Name is unique in its pool.
	Name string
	// Project is what shares besides, with other callers; empty for none.
	Project string
	// Stranger is set for one who is not known.
	Stranger bool
	// Reserved callers have the reserve too, and no share: administrators and the operator.
	Reserved bool
}

// ofReserved begins the party of a reserved caller.
const ofReserved = "reserved "

// party is what callers have turns by. Reserved callers wait for nobody of their project.
func (c Caller) party() string {
	if c.Reserved {
		return ofReserved + c.Name
	}
	return cmp.Or(c.Project, c.Name)
}

// Stranger is the caller of a request whose sender is not known: one customer's network,
// and as project the site's, which may have 65,536 of IPv6 and 256 addresses of IPv4.
func Stranger(remote string) Caller {
	c := Caller{Name: Network(remote), Stranger: true}
	if ip, err := netip.ParseAddr(address.Host(remote)); err == nil {
		c.Project = network(ip.Unmap().WithZone(""), 24, 48)
	}
	return c
}

// Network returns the address without its port; for IPv6 the 64-bit network, which one
// customer has exclusively.
func Network(remote string) string {
	host := address.Host(remote)
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		return ip.String()
	}
	return network(ip, 32, 64)
}

func network(ip netip.Addr, of4, of6 int) string {
	bits := of6
	if ip.Is4() {
		bits = of4
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return ip.String()
	}
	return prefix.String()
}

type (
	callerKey struct{}
	sourceKey struct{}
)

// From returns a context for what an address sends.
func From(ctx context.Context, remote string) context.Context {
	return context.WithValue(ctx, sourceKey{}, remote)
}

// Source returns the stranger at the address of From, for what nobody is known for yet.
func Source(ctx context.Context) Caller {
	remote, _ := ctx.Value(sourceKey{}).(string)
	return Stranger(remote)
}

// As returns a context for work that is on behalf of a caller.
func As(ctx context.Context, c Caller) context.Context { return context.WithValue(ctx, callerKey{}, c) }

// Of returns the caller of As; the zero one is somebody who is known.
func Of(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}
