package fleet

import (
	"fmt"
	"time"

	"github.com/axle-cd/axle/hub/fleet/specrules"
	"github.com/axle-cd/axle/internal/clock"
)

// upstreams is the state of the sources of some services: heads by source,
// repositories by id.
type upstreams struct {
	heads        map[string]Head
	repositories map[string]Upstream
}

// notActing returns NotActing, and the sources that were declared while the hub
// did not support them: they take effect once the service is applied again.
func notActing(s Service) []string {
	paths := specrules.NotActing(s.Spec)
	if declared := specrules.SourcesOf(s.Spec); len(declared) > len(s.Follows()) && len(s.Follows()) > 0 {
		for _, d := range declared[len(s.Follows()):] {
			paths = append(paths, d.At+" (declared before it acted; apply the service again)")
		}
	}
	return paths
}

// viewSources adds the state of a service's sources. A source that cannot be
// used is an error of the service. A repository that cannot be read is only a
// note, because everything continues with the content that is here.
func (f *serviceViews) viewSources(v *ServiceView, c Cluster, status StoredStatus, known upstreams) {
	declared := specrules.SourcesOf(v.Spec)
	var failed, notes []StatusError
	waits := ""
	for i, place := range v.Follows() {
		head, upstream := known.heads[place.SourceID], known.repositories[place.RepositoryID]
		view := sourceView(v.Service, i, declared, place, head, upstream)
		v.Sources = append(v.Sources, view)
		what := sourceName(view, len(v.Follows()) > 1)
		if head.Digest == "" && waits == "" {
			waits = what
		}
		switch {
		case head.Error != "":
			failed = append(failed, StatusError{Source: "source", Message: what + head.Error, Since: head.ErrorAt})
		case upstream.FailingSince != 0:
			notes = append(notes, StatusError{Source: "source", Message: f.upstreamNote(upstream), Since: upstream.FailingSince, Warning: true})
		}
	}
	if len(failed) > 0 {
		v.SourceError, v.SourceErrorAt = failed[0].Message, failed[0].Since
	}
	if v.waits() {
		v.Sync, v.Reason, v.Message = Pending, "", waits+"the declared spec waits for its source, which has no content yet"
	}
	if v.Deleting != "" {
		return
	}
	v.Status.Errors = append(append(failed, notes...), v.Status.Errors...)
	switch {
	case len(failed) > 0 && v.cannotBegin():
		v.Sync, v.Reason, v.Message = Failed, ReasonSourceError, v.SourceError
	case len(failed) > 0 && !status.bad():
		v.Reason, v.Message = ReasonSourceError, v.SourceError
	case f.needsNewerAgent(v.Service, status):
		v.Reason = ReasonOldAgent
		v.Message = fmt.Sprintf("the service has several sources, which agent %s of the cluster does not support; upgrade the agent; until then it keeps what it runs", c.AgentVersion)
	case len(notes) > 0 && v.Message == "":
		v.Message = notes[0].Message
	}
}

// waits reports whether the declared spec waits for its source, which has no
// content yet.
func (s Service) waits() bool {
	return s.Undelivered && s.PinnedRevision == 0 && s.Deleting == "" && !s.Paused
}

// cannotBegin reports whether the service has nothing to deliver until its sources
// can be used.
func (s Service) cannotBegin() bool {
	return s.Deleting == "" && (s.Desired.Digest == "" || s.Undelivered)
}

// SyncNow returns the sync that a service is shown with. failing is whether a source
// in its current state cannot be used. It does not know what services of other
// clusters and outputs a service waits for; such a service may be Pending instead.
func SyncNow(s Service, status StoredStatus, failing bool) Sync {
	sync, _, _ := effective(s, Cluster{}, status)
	switch {
	case failing && s.cannotBegin():
		return Failed
	case s.waits():
		return Pending
	}
	return sync
}

// tookParts is how long after a revision an agent that understands it has reported more than
// that it has no content.
const tookParts = 5 * time.Minute

// needsNewerAgent reports whether the agent was given parts and did not
// understand them. What it reported before they came says nothing.
func (f *serviceViews) needsNewerAgent(s Service, status StoredStatus) bool {
	return len(s.Parts) > 0 && status.Sync == Pending && status.Reason == "NoContent" && f.clock.Now().Sub(clock.FromMicros(s.RevisedAt)) > tookParts
}

// upstreamNote says since when a repository cannot be read, and that this
// stopped nothing.
func (f *serviceViews) upstreamNote(u Upstream) string {
	age := f.clock.Now().Sub(clock.FromMicros(u.FailingSince)).Round(time.Second)
	return fmt.Sprintf("repository %s cannot be read since %s; services continue with the content that was fetched: %s", u.Name, max(age, 0), u.Message)
}

// sourceName puts the source's name before an error when a service has several
// sources.
func sourceName(v SourceView, several bool) string {
	if !several {
		return ""
	}
	return fmt.Sprintf("%s (%s): ", v.Field, v.Repository)
}

func sourceView(s Service, i int, declared []specrules.Declared, place Place, head Head, upstream Upstream) SourceView {
	view := SourceView{Path: place.Path, Repository: upstream.Name, Kind: upstream.Kind, FetchedAt: head.FetchedAt, Error: head.Error, ErrorAt: head.ErrorAt}
	if i < len(declared) {
		d := declared[i]
		view.Field, view.Ref, view.Folder, view.Chart, view.Version = d.At, d.Ref, d.Folder, d.Chart, d.Version
		if view.Repository == "" {
			view.Repository = d.Repository + d.URL
		}
	}
	for _, p := range s.contents() {
		if p.SourceID == place.SourceID && p.Path == place.Path {
			view.Delivered = p.Content
		}
	}
	if view.Error == "" && upstream.FailingSince != 0 {
		view.Error, view.ErrorAt = "the repository cannot be read: "+upstream.Message, upstream.FailingSince
	}
	return view
}
