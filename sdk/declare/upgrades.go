package declare

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// upgrades are the upgrade of the agents, of which there is one at a time. What a person
// pauses or aborts in an incident stays so until the declaration changes.
type upgrades struct{}

// state is what an item of an AgentUpgrade declares: Running, Paused or Aborted.
func state(item *manifest.Item) string {
	for _, one := range item.Set {
		if u, ok := one.(*hubv1.AgentUpgrade); ok {
			return u.GetPhase()
		}
	}
	return "Running"
}

// foundUpgrade is nil while there is none, or only one of people that has ended.
func foundUpgrade(u *hubv1.AgentUpgrade) *Found {
	f := &Found{ID: u.GetId(), Message: u, By: u.GetManagedBy()}
	switch u.GetPhase() {
	case "":
		return nil
	case "Done", "Aborted", "Superseded":
		if !Declares(f.By) {
			return nil
		}
	}
	if u.GetPhase() != "Done" {
		f.Waits = fmt.Sprintf("the upgrade to %s is %s, in wave %d of %d: %s", u.GetVersion(), u.GetPhase(), u.GetWave(), len(u.GetWaves()), u.GetMessage())
	}
	return f
}

// Read implements Kind.
func (upgrades) Read(ctx context.Context, c *sdk.Client, _ *manifest.Item) (*Found, error) {
	u, err := c.Agents.UpgradeStatus(ctx, connect.NewRequest(&hubv1.UpgradeStatusRequest{}))
	if err != nil {
		return nil, err
	}
	return foundUpgrade(u.Msg), nil
}

// target reports whether an upgrade is to the version and image that are declared.
func target(u *hubv1.AgentUpgrade, want *hubv1.StartUpgradeRequest) bool {
	version := want.GetVersion()
	if version == "" {
		version = u.GetHubVersion()
	}
	return u.GetVersion() == version && u.GetImage() == want.GetImage()
}

// Same implements Kind. A state that is not Running must be reached; Running may have
// been paused or aborted by a person.
func (upgrades) Same(_ *sdk.Client, item *manifest.Item, have *Found) bool {
	u := have.Message.(*hubv1.AgentUpgrade)
	if !target(u, item.Request.(*hubv1.StartUpgradeRequest)) {
		return state(item) == "Aborted"
	}
	return state(item) == "Running" || step(u, item) == ""
}

// step is the call that brings an upgrade to what is declared, empty for none.
func step(u *hubv1.AgentUpgrade, item *manifest.Item) string {
	phase, wants := u.GetPhase(), state(item)
	if !target(u, item.Request.(*hubv1.StartUpgradeRequest)) || phase == "Aborted" || phase == "Aborting" || phase == "Superseded" {
		if wants == "Aborted" {
			return ""
		}
		return "start"
	}
	switch {
	case phase == "Done":
		return ""
	case wants == "Aborted":
		return "abort"
	case wants == "Paused" && phase == "Progressing":
		return "pause"
	case wants == "Running" && phase == "Paused":
		return "resume"
	}
	return ""
}

// Write implements Kind.
func (upgrades) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *Found) (*Found, error) {
	u := &hubv1.AgentUpgrade{}
	if have != nil {
		u = have.Message.(*hubv1.AgentUpgrade)
	}
	var answer *connect.Response[hubv1.AgentUpgrade]
	var err error
	does := step(u, item)
	if item.Management.GetTakeOver() && does != "abort" {
		does = "start"
	}
	switch does {
	case "start":
		request := proto.CloneOf(item.Request.(*hubv1.StartUpgradeRequest))
		request.Management = item.Management
		answer, err = c.Agents.StartUpgrade(ctx, connect.NewRequest(request))
		if err == nil && state(item) == "Paused" && answer.Msg.GetPhase() == "Progressing" {
			answer, err = c.Agents.PauseUpgrade(ctx, connect.NewRequest(&hubv1.PauseUpgradeRequest{}))
		}
	case "pause":
		answer, err = c.Agents.PauseUpgrade(ctx, connect.NewRequest(&hubv1.PauseUpgradeRequest{}))
	case "resume":
		answer, err = c.Agents.ResumeUpgrade(ctx, connect.NewRequest(&hubv1.ResumeUpgradeRequest{}))
	case "abort":
		answer, err = c.Agents.AbortUpgrade(ctx, connect.NewRequest(&hubv1.AbortUpgradeRequest{}))
	default:
		return &Found{ID: u.GetId(), Message: u, By: u.GetManagedBy()}, nil
	}
	if err != nil {
		return nil, err
	}
	if f := foundUpgrade(answer.Msg); f != nil {
		return f, nil
	}
	return &Found{ID: answer.Msg.GetId(), Message: answer.Msg, By: answer.Msg.GetManagedBy()}, nil
}

// Remove changes nothing: agents stay at their version.
func (upgrades) Remove(context.Context, *sdk.Client, string, *hubv1.Manager) error { return nil }

// Managed implements Kind. An upgrade is not deleted.
func (upgrades) Managed(context.Context, *sdk.Client, *hubv1.Manager) ([]string, error) {
	return nil, nil
}
