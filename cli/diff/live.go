package diff

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/diffview"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/cli/plan"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

// atOnce bounds the services that are compared at the same time.
const atOnce = 16

// live compares the services of a plan with their clusters.
type live struct {
	app    *command.App
	client *sdk.Client
	ask    diffview.Asker
	limit  int
}

// compare adds to the plan what its changes would change in the clusters. An object
// that stays as it is changes nothing there.
func (l live) compare(ctx context.Context, p *plan.Plan) error {
	var wanted []*hubv1.PreviewServiceRequest
	leave := func(format string, args ...any) { p.LeftOut = append(p.LeftOut, fmt.Sprintf(format, args...)) }
	for _, o := range p.Objects {
		if o.Kind != "ServiceDeployment" && o.Kind != "GlobalService" || o.Action != plan.Create && o.Action != plan.Update {
			continue
		}
		if o.Action == plan.Create {
			leave("%s %s in its clusters: it is new", o.Kind, o.Name)
			continue
		}
		ref, why := movedTo(o)
		if why != "" {
			leave("%s %s in its clusters: %s", o.Kind, o.Name, why)
			continue
		}
		targets, err := l.targets(ctx, o)
		if err != nil {
			return err
		}
		for i, target := range targets {
			if len(target.GetSources()) > 1 {
				leave("service %s/%s in its cluster: it has several sources", target.GetCluster(), target.GetName())
				continue
			}
			if len(wanted) >= l.limit {
				leave("%s of %s %s in their clusters: --live-limit is %d", output.Count(len(targets)-i, "service"), o.Kind, o.Name, l.limit)
				break
			}
			wanted = append(wanted, &hubv1.PreviewServiceRequest{Ref: &hubv1.ServiceRef{Cluster: target.GetCluster(), Name: target.GetName()}, SourceRef: ref, Refresh: len(wanted) == 0, ChangedOnly: true})
		}
	}
	p.Live = l.all(ctx, wanted)
	return nil
}

// movedTo is the ref that a changed service would follow, or why a preview cannot show
// the change: it renders other files with the settings that the hub has.
func movedTo(o plan.Object) (ref, why string) {
	under := ""
	if o.Kind == "GlobalService" {
		under = "template."
	}
	for _, f := range o.Fields {
		switch to, _ := f.New.(string); {
		case f.Path == "managedBy":
		case f.Path != under+"git.ref":
			return "", "a preview renders another ref, and not other settings (" + f.Path + ")"
		case strings.Contains(to, "{{") || strings.Contains(to, "{%"):
			return "", "its ref is a template"
		default:
			ref = to
		}
	}
	if ref == "" {
		return "", "its manager changes and nothing else"
	}
	return ref, ""
}

// targets are the services of an object of a plan: one, or those of a global service.
func (l live) targets(ctx context.Context, o plan.Object) (services []*hubv1.Service, _ error) {
	if o.Kind == "ServiceDeployment" {
		cluster, name, _ := strings.Cut(o.Name, "/")
		have, err := l.client.Services.Get(ctx, connect.NewRequest(&hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: cluster, Name: name}}))
		if err != nil {
			return nil, err
		}
		return []*hubv1.Service{have.Msg}, nil
	}
	have, err := l.client.GlobalServices.Get(ctx, connect.NewRequest(&hubv1.GetGlobalServiceRequest{Name: o.Name}))
	if err != nil {
		return nil, err
	}
	all, err := command.ListServices(ctx, l.client, &hubv1.ListServicesRequest{Name: o.Name, ManagedByTool: "hub"})
	for _, s := range all {
		if s.GetManagedBy().GetId() == have.Msg.GetId() && !s.GetDeleting() {
			services = append(services, s)
		}
	}
	return services, err
}

// all asks for the previews, the first one alone: it fetches the ref for all.
func (l live) all(ctx context.Context, wanted []*hubv1.PreviewServiceRequest) []diffview.View {
	if len(wanted) == 0 {
		return nil
	}
	p := l.app.Begin("comparing %s", output.Count(len(wanted), "service"))
	defer p.End()
	views := make([]diffview.View, len(wanted))
	one := func(i int) {
		d, err := l.ask.Preview(ctx, wanted[i])
		if err != nil {
			d = &hubv1.ServiceDiff{Error: errcode.Text(err)}
		}
		views[i] = diffview.Of(wanted[i].GetRef(), "ref "+wanted[i].GetSourceRef(), d)
	}
	one(0)
	places := make(chan struct{}, atOnce)
	var rest sync.WaitGroup
	for i := 1; i < len(wanted); i++ {
		places <- struct{}{}
		rest.Go(func() {
			defer func() { <-places }()
			one(i)
		})
	}
	rest.Wait()
	return views
}
