package notify_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/notify"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// People see what they may read when they read it.
func TestInboxShowsWhatOneMayRead(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		edge := b.AddCluster("edge-1")
		web, api := b.AddService("edge-1", "web"), b.AddService("edge-1", "api")
		b.sink(notify.SinkRequest{Name: "me", Type: notify.Plural, Users: []string{"ann"}, Groups: []string{"oncall"}, Priority: "HIGH"})
		b.route(notify.Router{Name: "a", Events: []string{"*"}, Sinks: []string{"me"}})
		for _, s := range []fleet.ServiceView{web, api} {
			b.happens(event.Entry{Kind: "service.failed", Object: "service edge-1/" + s.Name, Cluster: edge.ID, Service: s.ID})
		}
		b.happens(event.Entry{Kind: "cluster.deleted", Object: "cluster secret", Cluster: "cl_gone"})
		told := func() (n int) {
			rows, err := b.Store.ChangesAfter(t.Context(), 0, 1000)
			b.must(err)
			for _, row := range rows {
				if row.Kind == event.KindNotification {
					n++
				}
			}
			return n
		}
		before := told()
		b.turn(gathered)
		b.quiet()
		// Once for each message that is shown, and not when it is only tried.
		if n := told(); before != 0 || n != 2 {
			t.Errorf("browsers are told %d times before and %d after, want 0 and 2", before, n)
		}
		ann, bob := identity.Principal{Kind: identity.KindUser, ID: "usr_a", Name: "ann"}, identity.Principal{ID: "usr_b", Name: "bob", Groups: []string{"oncall"}}
		for name, tc := range map[string]struct {
			who   identity.Principal
			reach identity.Reach
			want  string
		}{
			"everything":   {ann, identity.All, "2 services failed; cluster secret deleted"},
			"one service":  {bob, identity.Reach{Services: []string{web.ID}}, "service edge-1/web failed"},
			"one cluster":  {ann, identity.Reach{Clusters: []string{edge.ID}}, "2 services failed"},
			"nothing":      {ann, identity.Reach{}, ""},
			"not named":    {identity.Principal{Name: "eve"}, identity.All, ""},
			"one project":  {ann, identity.Reach{Everywhere: true, Only: "other"}, ""},
			"the projects": {ann, identity.Reach{Projects: []string{fleet.DefaultProjectID}}, "2 services failed"},
		} {
			shown, err := b.Inbox(t.Context(), tc.who, tc.reach, false, 0)
			b.must(err)
			var titles []string
			for _, one := range shown {
				titles = append(titles, one.Body.Title())
			}
			if slices.Sort(titles); strings.Join(titles, "; ") != tc.want {
				t.Errorf("%s: %q, want %q", name, titles, tc.want)
			}
		}
		b.must(b.MarkRead(t.Context(), ann, 1<<62))
		all := identity.All
		if unread, err := b.Inbox(t.Context(), ann, all, true, 0); err != nil || len(unread) != 0 {
			t.Errorf("%v, %v", unread, err)
		}
		if unread, err := b.Inbox(t.Context(), bob, all, true, 0); err != nil || len(unread) != 2 || unread[0].Read {
			t.Errorf("%v, %v", unread, err)
		}
	})
}
