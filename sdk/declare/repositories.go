package declare

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/repourl"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// repositories are the hub's repositories, whatever their manifests are. The kind
// Repository declares one as a whole. The manifests of the other kinds have neither all
// options nor, without a Secret, a login: what they do not declare stays.
type repositories struct {
	described
	whole bool
}

func foundRepository(r *hubv1.Repository) *Found {
	f := &Found{ID: r.GetId(), Message: r, By: r.GetManagedBy()}
	switch r.GetHealth() {
	case "Pullable":
	case "Failed":
		f.Waits = "the hub cannot read the repository: " + r.GetMessage()
	default:
		f.Waits = "the hub has not read the repository yet"
	}
	return f
}

// Read implements Kind.
func (repositories) Read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*Found, error) {
	have, err := c.Repositories.Get(ctx, connect.NewRequest(&hubv1.GetRepositoryRequest{Name: item.Name}))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return foundRepository(have.Msg), nil
}

// options are those that a change sends, nil if the hub has them.
func (rs repositories) options(have, want *hubv1.RepositoryOptions) *hubv1.RepositoryOptions {
	present := func(o *hubv1.RepositoryOptions) *hubv1.RepositoryOptions {
		if o == nil {
			return &hubv1.RepositoryOptions{}
		}
		return o
	}
	switch {
	case !rs.whole:
		return manifest.RepositoryOptions(have, want)
	case proto.Equal(present(have), present(want)):
		return nil
	}
	return present(want)
}

// Same cannot see the stored credentials, only how they log in.
func (rs repositories) Same(_ *sdk.Client, item *manifest.Item, f *Found) bool {
	have, want := f.Message.(*hubv1.Repository), item.Request.(*hubv1.CreateRepositoryRequest)
	return have.GetUrl() == want.GetUrl() && have.GetType() == want.GetType() && (want.GetAuth() == "" || have.GetAuth() == want.GetAuth()) &&
		(want.GetCredentials() == nil || want.GetAuth() == "none" || have.GetAuth() != "none") && rs.options(have.GetOptions(), want.GetOptions()) == nil
}

// Write implements Kind. Credentials go to another address only with the same call: the
// hub refuses to send stored ones there.
func (rs repositories) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, f *Found) (*Found, error) {
	want := proto.CloneOf(item.Request.(*hubv1.CreateRepositoryRequest))
	want.Management = item.Management
	if f == nil {
		answer, err := c.Repositories.Create(ctx, connect.NewRequest(want))
		if err != nil {
			return nil, err
		}
		return foundRepository(answer.Msg), nil
	}
	have := f.Message.(*hubv1.Repository)
	switch {
	case have.GetType() != want.GetType():
		return nil, errcode.New(errcode.Conflict, "repository %s of the hub is of type %s; choose another name", item.Name, have.GetType())
	case !rs.whole && !repourl.Same(want.GetType(), have.GetUrl(), want.GetUrl()):
		return nil, errcode.New(errcode.Conflict, "repository %s of the hub has the URL %s, which cannot be changed; choose another name", item.Name, have.GetUrl())
	case !rs.whole && want.GetCredentials() == nil && rs.Same(c, item, f) && !item.Management.GetTakeOver():
		// Without a Secret the object declares no credentials: those that somebody gave
		// with axle repos stay, also when it is taken over.
		return f, nil
	}
	request := &hubv1.UpdateRepositoryRequest{
		Name: item.Name, Credentials: want.GetCredentials(), Auth: want.GetAuth(), Options: rs.options(have.GetOptions(), want.GetOptions()), Management: want.GetManagement(),
	}
	if !rs.whole || have.GetUrl() != want.GetUrl() {
		request.Url = want.GetUrl()
	}
	answer, err := c.Repositories.Update(ctx, connect.NewRequest(request))
	if err != nil {
		return nil, err
	}
	return foundRepository(answer.Msg), nil
}

// Managed implements Kind. The objects of several kinds are repositories, and which kind
// declares one is not known.
func (repositories) Managed(context.Context, *sdk.Client, *hubv1.Manager) ([]string, error) {
	return nil, nil
}
