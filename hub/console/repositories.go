package console

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pagetoken"
)

type repositories struct{ *Server }

// maxRepositories is the largest page of repositories.
const maxRepositories = 500

// healthText maps the states of an upstream to the API's words.
var healthText = map[string]string{"PULLABLE": "Pullable", "FAILED": "Failed", "UNKNOWN": "Unknown", "": "Unknown"}

func (s *repositories) one(r gitcache.Repository, extra extras) *hubv1.Repository {
	auth := string(r.Auth)
	if auth == "" {
		auth = "none"
	}
	project := extra.projects[r.ProjectID]
	if project == "" {
		project = fleet.DefaultProject
	}
	placed := extra.placements[r.ID]
	owner := placed.Owner
	if !placed.Held {
		owner = ""
	}
	return &hubv1.Repository{
		Id: r.ID, Name: r.Name, Project: project, Type: string(r.Kind), Url: r.Address(), Auth: auth,
		Health: healthText[string(r.Health.State)], Message: r.Health.Message,
		LastFetchAt: clock.Micros(r.Health.CheckedAt), LastAttemptAt: clock.Micros(r.Health.CheckedAt), FailingSince: clock.Micros(r.Health.FailedSince), NextFetchAt: clock.Micros(r.Health.NextAt),
		Options: optionsOf(r.Options),
		Owner:   owner, Preferred: placed.Preferred, Follower: placed.Follower, FollowedAt: clock.Micros(placed.FollowedAt),
		LeaseEpoch: placed.Epoch, LeaseAgeMicros: placed.Age.Microseconds(), Services: int32(extra.services[r.ID]), CreatedAt: clock.Micros(r.CreatedAt),
		ManagedBy: management.Out(r.ManagedBy),
	}
}

// extras is what other parts know about repositories.
type extras struct {
	projects   map[string]string
	services   map[string]int
	placements map[string]gitcache.Placement
}

// extras counts what is within reach, for the named repository or for all given.
func (s *repositories) extras(ctx context.Context, id string, of []gitcache.Repository, reach identity.Reach) (e extras, err error) {
	projects := map[string]bool{}
	for _, r := range of {
		projects[r.ProjectID] = true
	}
	if e.projects, err = s.config.Fleet.ProjectNames(ctx, slices.Sorted(maps.Keys(projects))...); err != nil {
		return e, err
	}
	if e.services, err = s.config.ServicesByRepository(ctx, id, reach); err != nil {
		return e, err
	}
	e.placements, err = s.config.Placements(ctx, id)
	return e, err
}

func (s *repositories) find(ctx context.Context, name string) (gitcache.Repository, error) {
	if name == "" {
		return gitcache.Repository{}, noRepository(name)
	}
	r, err := s.config.Cache.FindRepository(ctx, name)
	if errcode.Is(err, errcode.NotFound) {
		err = noRepository(name)
	}
	return r, err
}

func noRepository(name string) error {
	return errcode.New(errcode.NotFound, "repository %q does not exist; axle repos list lists all", name)
}

func (s *repositories) whole(ctx context.Context, name string) (*connect.Response[hubv1.Repository], error) {
	r, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	reach, err := s.readable(ctx)
	if err != nil {
		return nil, err
	}
	extra, err := s.extras(ctx, r.ID, []gitcache.Repository{r}, reach)
	if err != nil {
		return nil, err
	}
	out := s.one(r, extra)
	sources, err := s.config.Cache.Sources(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	users, err := s.config.ServicesBySource(ctx, r.ID, reach)
	if err != nil {
		return nil, err
	}
	for _, source := range sources {
		head, err := s.config.Cache.Head(ctx, source.ID)
		if err != nil && !errcode.Is(err, errcode.NotFound) {
			return nil, err
		}
		out.Heads = append(out.Heads, &hubv1.Head{
			Ref: source.Ref, Folder: source.Folder, Revision: head.Revision, Digest: string(head.Digest),
			FetchedAt: clock.Micros(head.FetchedAt), Message: head.Message, Error: head.Error, Services: int32(users[source.ID]),
		})
	}
	return connect.NewResponse(out), nil
}

func (s *repositories) List(ctx context.Context, r *connect.Request[hubv1.ListRepositoriesRequest]) (*connect.Response[hubv1.ListRepositoriesResponse], error) {
	all, err := s.config.Cache.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	reach, err := s.readable(ctx)
	if err := cmp.Or(err, managed.Filter(r.Msg.GetManagedByTool())); err != nil {
		return nil, err
	}
	if err := s.exists(ctx, r.Msg.GetProject(), ""); err != nil {
		return nil, err
	}
	after, _, err := pagetoken.Parse(r.Msg.GetPageToken())
	if err != nil {
		return nil, err
	}
	extra, err := s.extras(ctx, "", all, reach)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b gitcache.Repository) int { return cmp.Compare(a.Name, b.Name) })
	out := &hubv1.ListRepositoriesResponse{}
	for _, repository := range all {
		if repository.Name <= after {
			continue
		}
		// Repositories that the hub follows internally are shown with the ones
		// that need them.
		if repository.Options.Internal || !reach.Covers(repositoryScope(repository)) || !repository.ManagedBy.Selects(r.Msg.GetManagedByTool()) {
			continue
		}
		one := s.one(repository, extra)
		if r.Msg.GetProject() != "" && r.Msg.GetProject() != one.GetProject() {
			continue
		}
		if n := len(out.Repositories); r.Msg.GetPageSize() > 0 && n == min(int(r.Msg.GetPageSize()), maxRepositories) {
			out.NextPageToken = pagetoken.Of(out.Repositories[n-1].GetName(), "")
			break
		}
		out.Repositories = append(out.Repositories, one)
	}
	return connect.NewResponse(out), nil
}

func (s *repositories) Get(ctx context.Context, r *connect.Request[hubv1.GetRepositoryRequest]) (*connect.Response[hubv1.Repository], error) {
	return s.whole(ctx, r.Msg.GetName())
}

func (s *repositories) Create(ctx context.Context, r *connect.Request[hubv1.CreateRepositoryRequest]) (*connect.Response[hubv1.Repository], error) {
	project, err := s.project(ctx, r.Msg.GetProject())
	if err != nil {
		return nil, err
	}
	auth, credentials, err := login(r.Msg.GetAuth(), r.Msg.GetCredentials())
	if err != nil {
		return nil, err
	}
	made := gitcache.Repository{Name: r.Msg.GetName(), ProjectID: project.ID, Kind: gitcache.Kind(r.Msg.GetType()), URL: r.Msg.GetUrl(), Auth: auth, Options: options(r.Msg.GetOptions()), ManagedBy: managed.Created(ctx)}
	if _, err := s.config.Cache.CreateRepository(ctx, made, credentials); err != nil {
		return nil, err
	}
	return s.whole(ctx, r.Msg.GetName())
}

func (s *repositories) Update(ctx context.Context, r *connect.Request[hubv1.UpdateRepositoryRequest]) (*connect.Response[hubv1.Repository], error) {
	have, err := s.find(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	changed := r.Msg
	if changed.GetOptions() != nil {
		internal := have.Options.Internal
		have.Options = options(changed.GetOptions())
		have.Options.Internal = internal
	}
	if changed.GetUrl() != "" {
		have.URL, have.Written = changed.GetUrl(), ""
	}
	var keep *gitcache.Credentials
	if changed.GetCredentials() != nil || changed.GetAuth() != "" || changed.GetOptions() == nil && changed.GetUrl() == "" && !changed.GetManagement().GetTakeOver() {
		auth, credentials, err := login(changed.GetAuth(), changed.GetCredentials())
		if err != nil {
			return nil, err
		}
		have.Auth, keep = auth, &credentials
	}
	guarded := s.config.RepositoryUsers.Guarded(ctx, have, repositoryScope(have), func(at identity.Scope) bool {
		return s.config.Identity.Authorize(ctx, caller(ctx), identity.ActionWrite, at) == nil
	})
	if _, err := s.config.Cache.UpdateRepository(guarded, have, keep); err != nil {
		return nil, err
	}
	return s.whole(ctx, have.Name)
}

func (s *repositories) Refresh(ctx context.Context, r *connect.Request[hubv1.RefreshRepositoryRequest]) (*connect.Response[hubv1.Repository], error) {
	have, err := s.find(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	if r.Msg.GetWait() {
		err = s.config.Cache.RefreshAndWait(ctx, have.ID, "")
	} else {
		err = s.config.Cache.Refresh(ctx, have.ID)
	}
	if err != nil {
		return nil, err
	}
	return s.whole(ctx, have.Name)
}

func (s *repositories) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteRepositoryRequest]) (*connect.Response[hubv1.DeleteRepositoryResponse], error) {
	have, err := s.find(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	reach, err := s.readable(ctx)
	if err == nil {
		err = s.config.RepositoryUsers.Unused(ctx, have, reach)
	}
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.DeleteRepositoryResponse{}), s.config.Cache.DeleteRepository(ctx, have.ID)
}
