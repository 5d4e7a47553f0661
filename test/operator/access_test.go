package operator_test

import (
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
)

func TestGroup(t *testing.T) {
	b := newBed(t)
	ask(b, b.people.Groups.Create, &hubv1.CreateGroupRequest{Name: "theirs", Description: "by Ann"})
	b.operate()
	declare := func(name, spec string) *v1alpha1.Group {
		b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Group\nmetadata: {name: " + name + ", namespace: " + b.namespace + "}\nspec: {" + spec + "}")
		return &v1alpha1.Group{ObjectMeta: meta1(name, b.namespace)}
	}
	g := declare("sre", "name: on call, description: first")
	b.synchronized(g)
	b.want(g, "Ready", "True", "Ready", "")
	have := ask(b, b.people.Groups.Get, &hubv1.GetGroupRequest{Name: "on call"})
	if have.GetDescription() != "first" || *g.Status.ID != have.GetId() || len(g.Status.NotActing) != 0 {
		t.Errorf("group %v, status %+v", have, g.Status)
	}
	b.idle(g)

	// Members that others added stay, whatever changes.
	ask(b, b.people.Groups.AddMember, &hubv1.AddMemberRequest{Group: "on call", User: "admin@example.com"})
	declare("sre", "name: on call, description: second, global: true")
	b.synchronized(g)
	if len(g.Status.NotActing) != 2 || g.Status.NotActing[0] != "spec.description" || g.Status.NotActing[1] != "spec.global" {
		t.Errorf("not acting: %q", g.Status.NotActing)
	}
	if have := ask(b, b.people.Groups.Get, &hubv1.GetGroupRequest{Name: "on call"}); have.GetMembers() != 1 {
		t.Errorf("group %v", have)
	}

	// A group that the hub lost is made again, and one of others is only shown.
	ask(b, b.people.Groups.Delete, &hubv1.DeleteGroupRequest{Name: "on call"})
	declare("sre", "name: on call, description: third")
	b.synchronized(g)
	ask(b, b.people.Groups.Get, &hubv1.GetGroupRequest{Name: "on call"})
	theirs := declare("theirs", "description: from Git")
	b.want(theirs, "Readonly", "True", "Readonly", "")
	b.deleted(theirs)
	ask(b, b.people.Groups.Get, &hubv1.GetGroupRequest{Name: "theirs"})

	b.gate.setDown(true)
	if err := b.Delete(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	b.want(g, "Synchronized", "False", "Error", "cannot reach the hub")
	b.gate.setDown(false)
	b.gone(g)
	absent(b, b.people.Groups.Get, &hubv1.GetGroupRequest{Name: "on call"})
}
