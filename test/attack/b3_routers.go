package attack

import (
	"fmt"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
)

var dearRouters = Attack{
	Class: "B3", Name: "dear-routers", Needs: Bed,
	Story: "Somebody with a project makes 50 notification routers with 20 dear expressions each, and wants everybody's notifications late.",
	Play: func(p *Play) string {
		others := []string{"store", "depot", "mall"}
		_, mallory := p.project("shop"), p.project("lab")
		for _, project := range others {
			p.project(project)
		}
		bob := p.person("bob", "{}", "read")
		route := func(who caller, project, router string, filters []string) answer {
			return who.call("NotificationRouters/Apply", `{"name": "<<%s>>", "settings": {"project": "<<%s>>", "events": ["cluster.create"], "sinks": ["<<sink-%s>>"], "filters": [%s]}}`, router, project, project, strings.Join(filters, ", "))
		}
		// What goes to one sink soon after another is gathered, so each project has its own.
		for _, project := range append([]string{"shop", "lab"}, others...) {
			p.admin().must("NotificationSinks/Apply", `{"name": "<<sink-%[1]s>>", "settings": {"type": "PLURAL", "project": "<<%[1]s>>", "users": ["<<bob>>@example.com"]}}`, project)
		}
		told := func(project, cluster string, within time.Duration) (time.Duration, error) {
			route(p.admin(), project, "told-"+project, nil)
			p.newCluster(cluster, project, "")
			at := time.Now()
			err := eventually.Wait(p.ctx, within, func() error {
				if a := bob.call("Notifications/List", `{}`); !strings.Contains(a.text, p.my(cluster)) {
					return fmt.Errorf("bob is not notified of %s: %.300s", cluster, a.text)
				}
				return nil
			})
			return time.Since(at), err
		}
		before, err := told("shop", "one", limit)
		if err != nil {
			p.fail("%w", err)
		}
		var dear []string
		for n := range 20 {
			dear = append(dear, fmt.Sprintf(`{"regex": "(%d|(.{0,30}){30})x$"}`, n))
		}
		for n := range 50 {
			if !route(mallory, "lab", fmt.Sprintf("dear-%d", n), dear).ok() {
				break // refused as too dear
			}
		}
		var after time.Duration
		for n, project := range others { // a machine that stood still is no dear router
			for m := range 10 {
				p.newCluster(fmt.Sprintf("a-cluster-with-quite-a-long-name-%d-%d", n, m), "lab", "")
			}
			if after, err = told(project, "of-"+project, before+watched); err == nil {
				return ""
			}
		}
		return fmt.Sprintf("a notification of another project is not there after %s, before it took %s", after.Round(time.Second), before.Round(time.Second))
	},
}
