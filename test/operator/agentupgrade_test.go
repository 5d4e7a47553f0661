package operator_test

import (
	"testing"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

// The version of the agents is declared once: a second object reads, people are refused,
// and the object's deletion leaves the agents as they are.
func TestAgentUpgrade(t *testing.T) {
	b := newBed(t)
	team := b.tenant("team-a", "edge-1")
	b.issue("team-a", team)
	b.apply(credentials("a", team, team))
	b.operate()
	declare := func(namespace, spec string) *axlev1alpha1.AgentUpgrade {
		b.own("AgentUpgrade", "default", namespace, spec)
		return &axlev1alpha1.AgentUpgrade{ObjectMeta: meta1("default", namespace)}
	}
	refused := declare(team, "{version: v6.6.6}")
	b.want(refused, "Synchronized", "False", "Error", "administrator")
	b.deleted(refused)
	o := declare(b.namespace, "{version: v1.2.3, image: registry.example/agent, waves: ['100%'], soak: 1s}")
	b.synchronized(o)
	status := func() *hubv1.AgentUpgrade {
		return ask(b, b.people.Agents.UpgradeStatus, &hubv1.UpgradeStatusRequest{})
	}
	have := status()
	byHub(b, have.GetManagedBy(), "operator", "/AgentUpgrade.axle-cd.github.io/"+b.namespace+"/default")
	if have.GetVersion() != "v1.2.3" || have.GetImage() != "registry.example/agent" || o.Status.Rollout.Phase == "" || len(o.Finalizers) != 0 {
		t.Errorf("upgrade %v, status %+v", have, o.Status)
	}
	b.idle(o)
	if _, err := b.people.Agents.StartUpgrade(t.Context(), request(&hubv1.StartUpgradeRequest{Version: "v9"})); !errcode.Is(err, errcode.Conflict) {
		t.Errorf("people start another one: %v", err)
	}
	declare(b.namespace, "{version: v1.2.4, waves: ['100%'], soak: 1s}")
	b.synchronized(o)
	if have := status(); have.GetVersion() != "v1.2.4" || have.GetImage() != "" {
		t.Errorf("upgrade %v", have)
	}
	second := declare(team, "{version: v6.6.6}")
	b.want(second, "Synchronized", "True", "Synchronized", "")
	b.want(second, "Readonly", "True", "Readonly", "managed by the operator (AgentUpgrade "+b.namespace+"/default)")
	b.deleted(o)
	if have := status(); have.GetVersion() != "v1.2.4" {
		t.Errorf("the deletion changed the upgrade: %v", have)
	}
}
