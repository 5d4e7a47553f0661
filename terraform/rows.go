package terraform

import (
	"context"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
)

// memberOf finds a membership that a person or a tool added; what a login provider gives
// is nobody's to declare.
func memberOf(rows []proto.Message, want proto.Message, _ *hubv1.Manager) (proto.Message, *hubv1.Manager) {
	w := want.(*hubv1.AddMemberRequest)
	for _, one := range rows {
		if m := one.(*hubv1.GroupMember); m.GetName() == w.GetUser() && slices.Contains(m.GetSources(), "") {
			return &hubv1.AddMemberRequest{Group: w.GetGroup(), User: w.GetUser()}, m.GetManagedBy()
		}
	}
	return nil, nil
}

// boundTo makes one object of the actions that a subject has at a place: those that are
// declared, and those that the same manager gave. What others gave beside is theirs.
func boundTo(rows []proto.Message, want proto.Message, by *hubv1.Manager) (proto.Message, *hubv1.Manager) {
	w := want.(*hubv1.CreateBindingRequest)
	found := &hubv1.CreateBindingRequest{SubjectKind: w.GetSubjectKind(), Subject: w.GetSubject(), Place: w.GetPlace()}
	var manager *hubv1.Manager
	for _, one := range rows {
		b := one.(*hubv1.Binding)
		ours := proto.Equal(b.GetManagedBy(), by)
		if b.GetSubjectKind() != w.GetSubjectKind() || b.GetSubject() != w.GetSubject() {
			continue
		}
		if len(w.GetActions()) == 0 || ours || slices.Contains(w.GetActions(), b.GetAction()) {
			found.Actions = append(found.Actions, b.GetAction())
			if manager == nil || !ours {
				manager = b.GetManagedBy()
			}
		}
	}
	if len(found.GetActions()) == 0 {
		return nil, nil
	}
	return found, manager
}

// rebind gives what is missing before it takes what is too much.
func rebind(ctx context.Context, c *sdk.Client, have, want proto.Message, m *hubv1.Management) error {
	h, w := have.(*hubv1.CreateBindingRequest), proto.CloneOf(want.(*hubv1.CreateBindingRequest))
	without := func(all, some []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(a string) bool { return slices.Contains(some, a) })
	}
	extra := without(h.GetActions(), w.GetActions())
	if !m.GetTakeOver() {
		w.Actions = without(w.GetActions(), h.GetActions())
	}
	if w.Management = m; len(w.GetActions()) > 0 {
		if _, err := c.Bindings.Create(ctx, connect.NewRequest(w)); err != nil {
			return sdk.Error(err, c.URL)
		}
	}
	if len(extra) == 0 {
		return nil
	}
	_, err := c.Bindings.Delete(ctx, connect.NewRequest(&hubv1.DeleteBindingRequest{
		SubjectKind: w.GetSubjectKind(), Subject: w.GetSubject(), Actions: extra, Place: w.GetPlace(), Management: m,
	}))
	return sdk.Error(err, c.URL)
}
