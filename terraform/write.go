package terraform

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/terraform/shape"
)

const (
	// sendLimit is how long the hub may take for one write, and awayLimit how long writes
	// wait for a hub that is away, such as for an upgrade.
	sendLimit = time.Minute
	awayLimit = 2 * time.Minute
)

// send makes a call that writes. While the hub is away it tries again, and lost says that
// the hub may have done it before. A call that was sent is ended even if Terraform is
// interrupted: the state would not have what the hub made.
func (s *session) send(ctx context.Context, c *call, request proto.Message) (made proto.Message, lost bool, err error) {
	defer s.reads.wrote()
	until := time.Now().Add(awayLimit)
	backoff := jitter.Backoff{Min: 200 * time.Millisecond, Max: 5 * time.Second}
	for {
		deadline := time.Now().Add(sendLimit)
		if own, ok := ctx.Deadline(); ok && own.Before(deadline) {
			deadline = own
		}
		once, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
		made, err = c.do(once, s.client, request)
		cancel()
		if !errcode.Is(err, errcode.Unavailable) {
			return made, lost, err
		}
		lost = true
		if time.Now().After(until) || jitter.Wait(ctx, 100*time.Millisecond+backoff.Next()) != nil {
			return nil, lost, err
		}
	}
}

// otherwise are the attributes that the hub has otherwise than planned.
func (k *kind) otherwise(plan, got map[string]tftypes.Value) (names []string) {
	for _, n := range k.attributes {
		want := plan[n.Name]
		if !n.WriteOnly && n.VersionOf == "" && shape.IsSet(want) && want.IsFullyKnown() && !want.Equal(got[n.Name]) {
			names = append(names, n.Name)
		}
	}
	return names
}

// taken adds an error for what the hub did not take, such as a field that an older hub
// does not know.
func (k *kind) taken(doing string, plan map[string]tftypes.Value, state tftypes.Value, d *diag.Diagnostics) {
	if names := k.otherwise(plan, shape.Fields(state)); len(names) > 0 {
		d.AddError(fmt.Sprintf("The hub did not take all of %s %s", strings.ReplaceAll(k.name, "_", " "), k.idOf(plan)), fmt.Sprintf(
			"It answered the %s with another value of: %s. A hub that is older than the provider (%s) does not know each attribute: upgrade the hub, use the provider that the hub itself serves, or leave these attributes out.",
			doing, strings.Join(names, ", "), buildinfo.Version))
	}
}

// replaced reports whether the plan makes another object in place of that of the state.
func (k *kind) replaced(v shape.Values) bool {
	return v.State != nil && slices.ContainsFunc(k.attributes, func(n *shape.Node) bool {
		return n.Immutable && !v.Plan[n.Name].Equal(v.State[n.Name])
	})
}

// ours reports whether the hub has the object, managed by this configuration.
func (s *session) ours(ctx context.Context, k *kind, keys map[string]tftypes.Value) bool {
	have, by, err := s.reads.find(ctx, k, keys)
	return err == nil && have != nil && managerText(by) == managerText(s.by)
}
