package fleetapi

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/fleet/index"
	"github.com/axle-cd/axle/hub/identity"
)

const (
	// mostNeeds is how many items of NeedsYou are returned.
	mostNeeds = 50
	// mostOrphans is how many services are counted that the hub does not know.
	mostOrphans = 1000
	// standardChanges and maxChanges are the default and the most changes; readAtOnce is
	// how many events are read for them, because many may become one.
	standardChanges = 50
	maxChanges      = 200
	readAtOnce      = 1000
	// together is how far apart equal events may be that become one.
	together = int64(time.Minute / time.Microsecond)
)

// Rollouts knows which rollouts wait for a person.
type Rollouts interface {
	Paused(ctx context.Context, limit int, reach identity.Reach) ([]globals.PausedRollout, error)
}

// Changes reads events within reach, newest first, with ids below before; 0 is all.
// Cluster is an id; empty is all.
type Changes func(ctx context.Context, cluster string, before int64, limit int, reach identity.Reach) ([]event.Entry, error)

// HeatMap implements hubv1connect.FleetHandler.
func (s *API) HeatMap(ctx context.Context, r *connect.Request[hubv1.HeatMapRequest]) (*connect.Response[hubv1.HeatMapResponse], error) {
	reach, err := s.Readable(ctx)
	if err != nil {
		return nil, err
	}
	groups, keys, err := s.Index.HeatMap(r.Msg.GetProject(), r.Msg.GetGroupBy(), reach)
	if err != nil {
		return nil, err
	}
	out := &hubv1.HeatMapResponse{TagKeys: keys, At: s.now()}
	for _, g := range groups {
		group := &hubv1.HeatMapGroup{Value: g.Value, LeftOut: g.LeftOut}
		for _, c := range g.Cells {
			group.Cells = append(group.Cells, &hubv1.HeatMapCell{Name: c.Name, Verdict: c.Verdict.String(), Services: int32(c.Services), Failed: int32(c.Failed), PolledAt: c.PolledAt})
		}
		out.Groups = append(out.Groups, group)
	}
	return connect.NewResponse(out), nil
}

// Search implements hubv1connect.FleetHandler.
func (s *API) Search(ctx context.Context, r *connect.Request[hubv1.SearchRequest]) (*connect.Response[hubv1.SearchResponse], error) {
	reach, err := s.Readable(ctx)
	if err != nil {
		return nil, err
	}
	results, totals, err := s.Index.Search(r.Msg.GetQuery(), int(r.Msg.GetLimit()), reach)
	if err != nil {
		return nil, err
	}
	out := &hubv1.SearchResponse{Totals: counts(totals)}
	for _, f := range results {
		out.Results = append(out.Results, &hubv1.SearchResult{Kind: f.Kind, Id: f.ID, Name: f.Name, Detail: f.Detail, Verdict: f.Verdict, Href: f.Href})
	}
	return connect.NewResponse(out), nil
}

// NeedsYou implements hubv1connect.FleetHandler.
func (s *API) NeedsYou(ctx context.Context, r *connect.Request[hubv1.NeedsYouRequest]) (*connect.Response[hubv1.NeedsYouResponse], error) {
	reach, err := s.Readable(ctx)
	if err != nil {
		return nil, err
	}
	project := r.Msg.GetProject()
	n, err := s.Index.Needs(project, reach)
	if err != nil {
		return nil, err
	}
	items, err := s.hubNeeds(ctx, project, reach)
	if err != nil {
		return nil, err
	}
	scope := ""
	if project != "" {
		scope = "&project=" + project
	}
	items = append(items, item("service_failed", n.Failed, "service", "failed", "/services?verdict=Failed"+scope, named("axle services get", n.Failed)))
	items = append(items, item("service_held", n.Held, "service", "held: a sync cannot be done safely", "/services?sync=Held"+scope, named("axle services get", n.Held)))
	items = append(items, item("cluster_stale", n.Stale, "cluster", "stale: no agent polls", "/clusters?verdict=Stale"+scope, named("axle clusters get", n.Stale)))
	orphans, err := s.orphans(ctx, project, reach)
	if err != nil {
		return nil, err
	}
	items = append(items, orphans...)
	pending := item("cluster_pending", n.Pending, "cluster", "waiting for approval", "/clusters?verdict=Pending"+scope, named("axle clusters get", n.Pending))
	if n.Pending.Count == 1 {
		pending.Command = named("axle clusters approve", n.Pending)
	}
	items = append(items, pending, item("repository_failed", n.Repositories, "repository", "unreadable", "/repositories?health=Failed", named("axle repos get", n.Repositories)))
	if project == "" {
		own, err := s.Own.needs(ctx, s.now())
		if err != nil {
			return nil, err
		}
		items = append(items, own...)
	}
	rollouts, err := s.paused(ctx, project, reach)
	if err != nil {
		return nil, err
	}
	out := &hubv1.NeedsYouResponse{}
	for _, one := range append(items, rollouts...) {
		switch {
		case one.GetCount() == 0:
		case len(out.Items) == mostNeeds:
			out.LeftOut++
		default:
			out.Items = append(out.Items, one)
		}
	}
	return connect.NewResponse(out), nil
}

// named is a command about the objects that stand for all of a need.
func named(command string, n index.Need) string {
	return strings.Join(append([]string{command}, n.Examples...), " ")
}

// plurals are those that do not end with a plain s.
var plurals = map[string]string{"repository": "repositories"}

func item(kind string, n index.Need, noun, what, href, command string) *hubv1.NeedsYouItem {
	title := fmt.Sprintf("%d %ss are %s.", n.Count, noun, what)
	if many := plurals[noun]; many != "" {
		title = fmt.Sprintf("%d %s are %s.", n.Count, many, what)
	}
	switch kind {
	case "service_failed":
		title = fmt.Sprintf("%d services failed.", n.Count)
	case "service_held":
		title = fmt.Sprintf("%d of the failed services are %s.", n.Count, what)
	}
	if n.Count == 1 {
		title = fmt.Sprintf("%s %s is %s.", strings.ToUpper(noun[:1])+noun[1:], n.Examples[0], what)
		if kind == "service_failed" {
			title = fmt.Sprintf("Service %s failed.", n.Examples[0])
		}
	}
	out := &hubv1.NeedsYouItem{Kind: kind, Title: title, Count: n.Count, Examples: n.Examples, Href: href, Command: command, Since: n.Since}
	if n.Count == 1 {
		out.Message, out.Href = short(n.Message), pageOf(href, n.Examples[0])
	}
	return out
}

// pageOf is the page of one object of a list, by the list's address and the object's name,
// which is CLUSTER/NAME for a service.
func pageOf(list, name string) string {
	path, _, _ := strings.Cut(list, "?")
	for part := range strings.SplitSeq(name, "/") {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// orphans are the services of each cluster that the hub does not know.
func (s *API) orphans(ctx context.Context, project string, reach identity.Reach) (items []*hubv1.NeedsYouItem, err error) {
	if reach, err = s.narrow(reach, project); err != nil {
		return nil, err
	}
	all, err := s.Fleet.Orphans(ctx, reach, mostOrphans)
	for _, o := range all {
		if len(items) == 0 || items[len(items)-1].GetHref() != pageOf("/clusters", o.Cluster) {
			items = append(items, &hubv1.NeedsYouItem{Kind: "service_orphaned", Href: pageOf("/clusters", o.Cluster), Command: "axle clusters orphans list " + o.Cluster, Message: short(o.Message)})
		}
		of := items[len(items)-1]
		if of.Count++; len(of.Examples) < 3 {
			of.Examples = append(of.Examples, o.ServiceID)
		}
		if of.Since == 0 || o.ReportedAt < of.Since {
			of.Since = o.ReportedAt
		}
		of.Title = fmt.Sprintf("Cluster %s has a service that the hub does not know.", o.Cluster)
		if of.Count > 1 {
			of.Title, of.Message = fmt.Sprintf("Cluster %s has %d services that the hub does not know.", o.Cluster, of.Count), ""
		}
	}
	return items, err
}

// paused are the rollouts that wait for a person.
func (s *API) paused(ctx context.Context, project string, reach identity.Reach) (items []*hubv1.NeedsYouItem, err error) {
	if reach, err = s.narrow(reach, project); err != nil {
		return nil, err
	}
	all, err := s.Rollouts.Paused(ctx, mostNeeds, reach)
	for _, r := range all {
		title := fmt.Sprintf("The rollout of %s is paused.", r.Name)
		if r.Phase == fanout.Stopped {
			title = fmt.Sprintf("The rollout of %s stopped: too many clusters failed.", r.Name)
		}
		items = append(items, &hubv1.NeedsYouItem{
			Kind: "rollout_paused", Title: title, Message: short(r.Message), Count: 1, Examples: []string{r.Name}, Href: "/rollouts/" + r.Name, Command: "axle rollouts resume " + r.Name, Since: r.UpdatedAt,
		})
	}
	return items, err
}

// hubNeeds is what the hub as a whole needs.
func (s *API) hubNeeds(ctx context.Context, project string, reach identity.Reach) (items []*hubv1.NeedsYouItem, err error) {
	if !reach.Hub() || project != "" {
		return nil, nil
	}
	life, err := s.Life(ctx)
	if err != nil {
		return nil, err
	}
	if !life.Confirmed {
		items = append(items, &hubv1.NeedsYouItem{
			Kind: "restore_unconfirmed", Title: "The database was restored; agents delete nothing until you confirm it.", Count: 1,
			Href: "/settings/about", Command: "axle hub confirm-restore", Since: life.StartedAt.UnixMicro(),
		})
	}
	if !reach.All() {
		return items, nil
	}
	risks, err := s.HubAtRisk(ctx)
	for _, r := range risks {
		items = append(items, &hubv1.NeedsYouItem{Kind: r.GetKind(), Title: r.GetObject() + ": " + r.GetWhy(), Count: 1, Href: "/settings/about", Command: r.GetCommand()})
	}
	return items, err
}

// nowhere is a reach that nothing is within.
const nowhere = "-"

// narrow limits a reach to one project; empty leaves it.
func (s *API) narrow(reach identity.Reach, project string) (identity.Reach, error) {
	if project == "" {
		return reach, nil
	}
	id, err := s.Index.ProjectID(project, reach)
	if reach.Only != "" && reach.Only != id {
		id = nowhere
	}
	reach.Only = id
	return reach, err
}

// RecentChanges implements hubv1connect.FleetHandler.
func (s *API) RecentChanges(ctx context.Context, r *connect.Request[hubv1.RecentChangesRequest]) (*connect.Response[hubv1.RecentChangesResponse], error) {
	reach, err := s.Readable(ctx)
	if err != nil {
		return nil, err
	}
	if reach, err = s.narrow(reach, r.Msg.GetProject()); err != nil {
		return nil, err
	}
	cluster := ""
	if name := r.Msg.GetCluster(); name != "" {
		if cluster, err = s.Index.ClusterID(name, reach); err != nil {
			return nil, err
		}
	}
	limit := int(r.Msg.GetLimit())
	if limit <= 0 {
		limit = standardChanges
	}
	limit = min(limit, maxChanges)
	entries, err := s.Changes(ctx, cluster, max(r.Msg.GetBefore(), 0), min(limit*5, readAtOnce), reach)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.RecentChangesResponse{Changes: grouped(entries, limit)}), nil
}

// ofPeople are the nouns of events that are about who may come in and not about the
// fleet. Events.List and the audit log have them.
var ofPeople = map[string]bool{"user": true, "session": true, "login": true, "token": true, "trust": true, "group": true, "binding": true, "provider": true, "signing_key": true}

// grouped makes one change of equal events of many clusters within a minute. Entries
// come newest first; the last change's id is the smallest of all that were used, so that
// a caller continues there.
func grouped(entries []event.Entry, limit int) (changes []*hubv1.RecentChange) {
	type key struct{ kind, service, by, message string }
	open := map[key]*hubv1.RecentChange{}
	used := int64(0)
	for _, e := range entries {
		if noun, _, _ := strings.Cut(e.Kind, "."); ofPeople[noun] {
			continue
		}
		cluster, service := placeOf(e.Object)
		k := key{e.Kind, service, e.By, e.Message}
		if strings.HasPrefix(e.By, "agent ") {
			k.by = "agent"
		}
		of := open[k]
		joins := of != nil && service != "" && of.At-e.At <= together
		if !joins && len(changes) == limit {
			break
		}
		used = e.ID
		if !joins {
			of = &hubv1.RecentChange{Id: e.ID, At: e.At, Kind: e.Kind, Object: e.Object, By: e.By, Message: short(e.Message), Cluster: cluster, Service: service, Count: 1}
			open[k] = of
			changes = append(changes, of)
			continue
		}
		if of.Count++; of.GetCluster() != cluster {
			of.Object, of.Cluster, of.By = "service "+service, "", k.by
		}
		of.Id = e.ID
	}
	if len(changes) > 0 {
		changes[len(changes)-1].Id = used
	}
	return changes
}

// placeOf returns the cluster and the service that an event's object names.
func placeOf(object string) (cluster, service string) {
	noun, name, _ := strings.Cut(object, " ")
	switch noun {
	case "cluster":
		return name, ""
	case "service":
		cluster, service, _ = strings.Cut(name, "/")
		return cluster, service
	}
	return "", ""
}
