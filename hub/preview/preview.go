package preview

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/tarball"
)

// The limits in the package's doc.
const (
	MaxFiles    = 4 << 20
	maxUnpacked = 32 << 20
	maxEntries  = 10_000
	maxService  = 5
	maxCluster  = 2_000
	maxHeavy    = 15
	kept        = time.Hour
)

// Preview is one request, and its answer once Answered is set.
type Preview struct {
	ServiceID string
	ClusterID string
	// Request is the service's number of diffs that requests it.
	Request   int64
	By        string
	CreatedAt int64
	// Revision is the revision whose settings are used; 0 are the current ones.
	Revision int64
	// Parts are the sources to render, including FilesDigest for Files.
	Parts       []fleet.Part
	FilesDigest string
	Files       []byte

	Answered    bool
	MadeAt      int64
	Error       string
	Differences []byte
}

// Store stores previews.
type Store interface {
	// PutPreview stores a preview and deletes those that were created before a
	// time.
	PutPreview(ctx context.Context, p Preview, dropBefore int64) error
	// Preview returns NotFound when there is none, or none any more.
	Preview(ctx context.Context, serviceID string, request int64) (Preview, error)
	// OpenPreviews returns a cluster's unanswered previews that are younger
	// than a time, in order of request, without their files.
	OpenPreviews(ctx context.Context, clusterID string, since int64) ([]Preview, error)
	// PreviewedOn returns the services of a project with open previews on a cluster.
	PreviewedOn(ctx context.Context, clusterID, projectID string, since int64) ([]string, error)
	// OpenPreviewsOf counts those of all services of a project.
	OpenPreviewsOf(ctx context.Context, projectID string, since int64) (int, error)
	// PreviewFiles returns the files of an open preview of a cluster. NotFound.
	PreviewFiles(ctx context.Context, clusterID, digest string) ([]byte, error)
	// AnswerPreview stores an answer; an unrequested one is dropped.
	AnswerPreview(ctx context.Context, p Preview) error
}

// Fleet knows services.
type Fleet interface {
	Declared(ctx context.Context, ref fleet.Ref) (fleet.Service, error)
	DiffOf(ctx context.Context, by string, ref fleet.Ref, fresh bool) (fleet.Diff, int64, error)
	Revisions(ctx context.Context, ref fleet.Ref) ([]fleet.Revision, error)
	// RoomForPreview returns Forbidden if no more previews of a project may be open at
	// once; count counts the open ones.
	RoomForPreview(ctx context.Context, projectID string, count func(ctx context.Context, projectID string) (int, error)) error
	// SpecAt returns a service with the settings of a revision.
	SpecAt(ctx context.Context, now fleet.AgentSpec, revision int64) (fleet.AgentSpec, error)
}

// Sources resolves a source at another ref.
type Sources interface {
	ResolveAt(ctx context.Context, sourceID, ref string, refresh bool) (fleet.Content, error)
	// RepositoryID returns NotFound when no repository has the name.
	RepositoryID(ctx context.Context, name string) (string, error)
}

// Previews manages previews. It is safe for concurrent use.
type Previews struct {
	Store   Store
	Writer  fleet.Writer
	Fleet   Fleet
	Sources Sources
	Clock   clock.Clock
}

// Want describes what to compare.
type Want struct {
	// Set exactly one of Ref, Revision and Files.
	Ref      string
	Revision int64
	Files    []byte
	// Repository, Refresh and ChangedOnly are for Ref.
	Repository  string
	Refresh     bool
	ChangedOnly bool
}

// Asked describes the request that was made.
type Asked struct {
	Service fleet.Service
	Request int64
	// SourceRevision is upstream's name for the compared content, empty for
	// files.
	SourceRevision string
	// Same means that no request was made, because the files are the current
	// ones.
	Same bool
}

// Ask requests a preview from the agent of a service. Invalid, NotFound,
// Exhausted, and the errors of the sources.
func (p *Previews) Ask(ctx context.Context, by string, ref fleet.Ref, want Want) (Asked, error) {
	s, err := p.Fleet.Declared(ctx, ref)
	if err != nil {
		return Asked{}, err
	}
	one := Preview{ServiceID: s.ID, ClusterID: s.ClusterID, By: by, Revision: want.Revision, CreatedAt: clock.Micros(p.Clock.Now())}
	asked := Asked{Service: s}
	switch {
	case want.Ref != "" && want.Revision == 0 && len(want.Files) == 0:
		err = p.atRef(ctx, s, want, &one, &asked)
	case want.Ref == "" && want.Revision > 0 && len(want.Files) == 0:
		err = p.atRevision(ctx, ref, want.Revision, &one, &asked)
	case want.Ref == "" && want.Revision == 0 && len(want.Files) > 0:
		err = p.ofFiles(ctx, s, want.Files, &one)
	default:
		err = errcode.New(errcode.Invalid, "a preview needs exactly one of: a ref, a revision, or files")
	}
	if err == nil && len(one.Parts) == 0 {
		err = errcode.New(errcode.Unprocessable, "service %s has no content yet; the reason is in its errors", ref)
	}
	if err != nil || asked.Same {
		return asked, err
	}
	err = p.Writer.Write(ctx, func(ctx context.Context) error {
		if err := p.room(ctx, s.ProjectID, one); err != nil {
			return err
		}
		err := p.Fleet.RoomForPreview(ctx, s.ProjectID, func(ctx context.Context, projectID string) (int, error) {
			return p.Store.OpenPreviewsOf(ctx, projectID, p.since())
		})
		if err != nil {
			return err
		}
		if _, one.Request, err = p.Fleet.DiffOf(ctx, by, ref, true); err != nil {
			return err
		}
		return p.Store.PutPreview(ctx, one, p.since())
	})
	asked.Request = one.Request
	return asked, err
}

// partsOf returns the parts of a service or revision; most have one.
func partsOf(parts []fleet.Part, content fleet.Content) []fleet.Part {
	if len(parts) > 0 || content.Digest == "" {
		return parts
	}
	return []fleet.Part{{Content: content}}
}

// atRevision uses the files and settings of a kept revision.
func (p *Previews) atRevision(ctx context.Context, ref fleet.Ref, number int64, one *Preview, asked *Asked) error {
	all, err := p.Fleet.Revisions(ctx, ref)
	for _, r := range all {
		if r.Number == number {
			one.Parts, asked.SourceRevision = partsOf(r.Parts, r.Content), r.SourceRevision
			return nil
		}
	}
	if err == nil {
		err = errcode.New(errcode.NotFound, "service %s has no revision %d any more; axle services revisions %s lists the kept ones", ref, number, ref)
	}
	return err
}

// atRef moves the sources of one repository to another ref; the others stay.
func (p *Previews) atRef(ctx context.Context, s fleet.Service, want Want, one *Preview, asked *Asked) error {
	places := s.Follows()
	if len(places) == 0 {
		return errcode.New(errcode.Invalid, "service %s has no source that has refs", s.Ref())
	}
	repository := places[0].RepositoryID
	if want.Repository != "" {
		var err error
		// A repository that does not exist and one that the service does not
		// follow look the same.
		if repository, err = p.Sources.RepositoryID(ctx, want.Repository); err != nil && !errcode.Is(err, errcode.NotFound) {
			return err
		}
	}
	now := map[string]fleet.Part{}
	for _, part := range partsOf(s.Parts, s.Desired) {
		now[part.Path] = part
	}
	same, found := true, false
	for _, place := range places {
		part := fleet.Part{Path: place.Path, Name: place.Name, SourceID: place.SourceID, Content: now[place.Path].Content}
		if place.RepositoryID == repository {
			content, err := p.Sources.ResolveAt(ctx, place.SourceID, want.Ref, want.Refresh && !found)
			if err != nil {
				return errcode.New(errcode.Of(err), "%s at %q: %s", place.Name, want.Ref, errcode.Message(err))
			}
			same = same && content.Digest == part.Digest && content.Entry == part.Entry
			part.Content, asked.SourceRevision, found = content, content.SourceRevision, true
		}
		if part.Digest == "" {
			return errcode.New(errcode.Unprocessable, "%s of service %s has no content yet; the reason is in its errors", place.Name, s.Ref())
		}
		one.Parts = append(one.Parts, part)
	}
	if !found {
		return errcode.New(errcode.Invalid, "service %s has no source in repository %.80q", s.Ref(), want.Repository)
	}
	asked.Same = same && want.ChangedOnly
	return nil
}

// ofFiles replaces the service's first source with files.
func (p *Previews) ofFiles(ctx context.Context, s fleet.Service, files []byte, one *Preview) error {
	if len(files) > MaxFiles {
		return errcode.New(errcode.Invalid, "the files have %d bytes packed; at most %d are allowed: leave out what the service does not render", len(files), MaxFiles)
	}
	d, err := tarball.Digest(ctx, bytes.NewReader(files), tarball.Limits{Bytes: maxUnpacked, Files: maxEntries, Depth: tarball.DefaultLimits.Depth})
	if err != nil {
		return errcode.New(errcode.Invalid, "the files are not a valid tarball: %w", err)
	}
	one.Files, one.FilesDigest = files, d.String()
	content := fleet.Content{Digest: d.String(), Size: int64(len(files)), SourceRevision: "files"}
	if one.Parts = append([]fleet.Part{}, s.Parts...); len(one.Parts) == 0 {
		one.Parts = []fleet.Part{{}}
	}
	one.Parts[0].Content = content
	return nil
}

// room refuses a preview while too many are open, or too many of its project: that has a
// half of what the others on the cluster leave, as of the pools of internal/pool. The rows
// are what counts here, so that it holds over all replicas.
func (p *Previews) room(ctx context.Context, projectID string, one Preview) error {
	open, err := p.Store.OpenPreviews(ctx, one.ClusterID, p.since())
	if err != nil {
		return err
	}
	ofProject, err := p.Store.PreviewedOn(ctx, one.ClusterID, projectID, p.since())
	if err != nil {
		return err
	}
	ofService, own, heavy, ownHeavy := 0, 0, 0, 0
	for _, o := range open {
		ours, files := slices.Contains(ofProject, o.ServiceID), o.FilesDigest != ""
		ofService += count(o.ServiceID == one.ServiceID)
		own, heavy, ownHeavy = own+count(ours), heavy+count(files), ownHeavy+count(ours && files)
	}
	if ofService >= maxService || own >= pool.Share(maxCluster, len(open)-own) || one.FilesDigest != "" && ownHeavy >= pool.Share(maxHeavy, heavy-ownHeavy) {
		return errcode.New(errcode.Exhausted, "%d previews of the cluster wait for its agent, %d of this service, %d of its project; check that it is online (axle clusters list), or try again later", len(open), ofService, own).After(time.Minute)
	}
	return nil
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func (p *Previews) since() int64 { return clock.Micros(p.Clock.Now().Add(-kept)) }

// Find returns a requested preview, and the service as it is now.
func (p *Previews) Find(ctx context.Context, ref fleet.Ref, request int64) (fleet.Service, Preview, error) {
	s, err := p.Fleet.Declared(ctx, ref)
	if err != nil {
		return s, Preview{}, err
	}
	one, err := p.Store.Preview(ctx, s.ID, request)
	if err != nil || one.Answered {
		return s, one, err
	}
	// An agent without support for previews answers the number with a diff.
	plain, _, err := p.Fleet.DiffOf(ctx, "", ref, false)
	if err == nil && plain.Request >= request {
		one.Answered, one.Error = true, "the cluster's agent does not support previews yet: upgrade it (axle agents)"
	}
	return s, one, err
}

// Open is a preview in the form for an agent.
type Open struct {
	Request int64
	Spec    fleet.AgentSpec
}

// Pending returns the open previews of some services of a cluster, by service.
func (p *Previews) Pending(ctx context.Context, clusterID string, services []fleet.AgentSpec) (map[string][]Open, error) {
	if len(services) == 0 {
		return nil, nil
	}
	open, err := p.Store.OpenPreviews(ctx, clusterID, p.since())
	if err != nil || len(open) == 0 {
		return nil, err
	}
	asked := map[string]fleet.AgentSpec{}
	for _, s := range services {
		asked[s.Service.ID] = s
	}
	all := map[string][]Open{}
	for _, o := range open {
		spec, ok := asked[o.ServiceID]
		if !ok {
			continue
		}
		if o.Revision > 0 {
			spec, err = p.Fleet.SpecAt(ctx, spec, o.Revision)
		}
		if err != nil {
			o.Answered, o.Error, o.MadeAt = true, errcode.Message(err), clock.Micros(p.Clock.Now())
			if err := p.Answer(ctx, o); err != nil {
				return nil, err
			}
			continue
		}
		spec.Service.Desired, spec.Service.Parts = o.Parts[0].Content, o.Parts
		all[o.ServiceID] = append(all[o.ServiceID], Open{o.Request, spec})
	}
	return all, nil
}

// Answer stores an agent's result. A result for another cluster's service is
// dropped.
func (p *Previews) Answer(ctx context.Context, a Preview) error {
	a.Answered = true
	return p.Writer.WriteBatched(ctx, func(ctx context.Context) error { return p.Store.AnswerPreview(ctx, a) })
}

// MayFetch reports whether an open preview of a cluster needs a digest, and
// returns the files when the digest is theirs.
func (p *Previews) MayFetch(ctx context.Context, clusterID, d string) (files []byte, may bool, err error) {
	open, err := p.Store.OpenPreviews(ctx, clusterID, p.since())
	if err != nil {
		return nil, false, err
	}
	for _, o := range open {
		for _, part := range o.Parts {
			if part.Digest != d {
				continue
			}
			if o.FilesDigest != d {
				return nil, true, nil
			}
			files, err := p.Store.PreviewFiles(ctx, clusterID, d)
			return files, err == nil, err
		}
	}
	return nil, false, nil
}
