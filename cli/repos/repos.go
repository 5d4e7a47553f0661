package repos

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
	"github.com/axle-cd/axle/sdk"
)

// Command returns the command axle repos.
func Command(a *command.App) *cobra.Command {
	return command.Noun("repos", "Manage the repositories that services come from", []string{"repo", "repositories"},
		listCommand(a), getCommand(a), addCommand(a), updateCommand(a), refreshCommand(a), deleteCommand(a))
}

// repoView is a repository as -o json and -o yaml show it.
type repoView struct {
	Name           string     `json:"name"`
	Project        string     `json:"project"`
	Type           string     `json:"type"`
	URL            string     `json:"url"`
	Auth           string     `json:"auth"`
	Proxy          string     `json:"proxy"`
	Region         string     `json:"region"`
	Endpoint       string     `json:"endpoint"`
	Verify         string     `json:"verify"`
	VerifyKeys     []string   `json:"verifyKeys"`
	Health         string     `json:"health"`
	Message        string     `json:"message"`
	LastFetchAt    string     `json:"lastFetchAt"`
	LastFetchAge   string     `json:"lastFetchAge"`
	LastAttemptAt  string     `json:"lastAttemptAt"`
	LastAttemptAge string     `json:"lastAttemptAge"`
	NextFetchAt    string     `json:"nextFetchAt"`
	FailingSince   string     `json:"failingSince"`
	FailingAge     string     `json:"failingAge"`
	Owner          string     `json:"owner"`
	Preferred      string     `json:"preferred"`
	LeaseEpoch     int64      `json:"leaseEpoch"`
	LeaseAge       string     `json:"leaseAge"`
	Follower       string     `json:"follower"`
	FollowedAt     string     `json:"followedAt"`
	FollowedAge    string     `json:"followedAge"`
	Services       int32      `json:"services"`
	Heads          []headView `json:"heads"`
	CreatedAt      string     `json:"createdAt"`

	ManagedBy command.ManagerView `json:"managedBy"`

	ID string `json:"id"`
}

type headView struct {
	Ref       string `json:"ref"`
	Folder    string `json:"folder"`
	Revision  string `json:"revision"`
	Digest    string `json:"digest"`
	FetchedAt string `json:"fetchedAt"`
	Age       string `json:"age"`
	Message   string `json:"message"`
	Error     string `json:"error"`
}

func newRepoView(a *command.App, r *hubv1.Repository) repoView {
	v := repoView{
		Name: r.GetName(), Project: r.GetProject(), Type: r.GetType(), URL: r.GetUrl(), Auth: r.GetAuth(),
		Proxy: r.GetOptions().GetProxy(), Region: r.GetOptions().GetRegion(), Endpoint: r.GetOptions().GetEndpoint(),
		Verify: r.GetOptions().GetVerify().GetMode(), VerifyKeys: append([]string{}, r.GetOptions().GetVerify().GetKeys()...), Health: r.GetHealth(), Message: r.GetMessage(),
		LastFetchAt: fields.Stamp(r.GetLastFetchAt()), LastFetchAge: a.Age(r.GetLastFetchAt()), LastAttemptAt: fields.Stamp(r.GetLastAttemptAt()), LastAttemptAge: a.Age(r.GetLastAttemptAt()),
		NextFetchAt: fields.Stamp(r.GetNextFetchAt()), FailingSince: fields.Stamp(r.GetFailingSince()), FailingAge: a.Age(r.GetFailingSince()),
		Owner: r.GetOwner(), Preferred: r.GetPreferred(), LeaseEpoch: r.GetLeaseEpoch(), LeaseAge: (time.Duration(r.GetLeaseAgeMicros()) * time.Microsecond).Round(time.Second).String(),
		Follower: r.GetFollower(), FollowedAt: fields.Stamp(r.GetFollowedAt()), FollowedAge: a.Age(r.GetFollowedAt()), Services: r.GetServices(), Heads: []headView{}, CreatedAt: fields.Stamp(r.GetCreatedAt()), ID: r.GetId(),
		ManagedBy: command.NewManagerView(r.GetManagedBy()),
	}
	for _, h := range r.GetHeads() {
		v.Heads = append(v.Heads, headView{h.GetRef(), h.GetFolder(), h.GetRevision(), h.GetDigest(), fields.Stamp(h.GetFetchedAt()), a.Age(h.GetFetchedAt()), h.GetMessage(), h.GetError()})
	}
	return v
}

// owner says which replica fetches the repository and which one should.
func (v repoView) owner() string {
	switch {
	case v.Owner == "" && v.Preferred == "":
		return ""
	case v.Owner == "":
		return "none right now (" + v.Preferred + " is next)"
	case v.Preferred != "" && v.Preferred != v.Owner:
		return v.Owner + ", moving to " + v.Preferred
	}
	return fmt.Sprintf("%s for %s (epoch %d)", v.Owner, v.LeaseAge, v.LeaseEpoch)
}

func printRepo(a *command.App, r *hubv1.Repository) error {
	return command.PrintOne(a, newRepoView(a, r), repoName,
		command.Col("Name", func(v repoView) string { return v.Name }),
		command.Col("URL", func(v repoView) string { return v.URL }),
		command.Col("Type", func(v repoView) string { return v.Type }),
		command.Col("Project", func(v repoView) string { return v.Project }),
		command.Col("Managed by", func(v repoView) string { return v.ManagedBy.String() }),
		command.Col("Proxy", func(v repoView) string { return v.Proxy }),
		command.Col("Verified by", func(v repoView) string { return v.Verify }),
		command.Col("Login", func(v repoView) string { return v.Auth }),
		command.Col("Health", func(v repoView) string { return v.Health }),
		command.Col("Message", func(v repoView) string { return v.Message }),
		command.Col("Failing since", func(v repoView) string { return v.FailingAge }),
		command.Col("Last fetch", func(v repoView) string { return command.Ago(v.LastFetchAge) }),
		command.Col("Next fetch", func(v repoView) string { return v.NextFetchAt }),
		command.Col("Owner", repoView.owner),
		command.Col("Follower", func(v repoView) string {
			if v.Follower == "" || v.FollowedAt == "" {
				return v.Follower
			}
			return v.Follower + ", up to date " + command.Ago(v.FollowedAge)
		}),
		command.Col("Services", func(v repoView) string { return strconv.Itoa(int(v.Services)) }),
		command.Col("Heads", func(v repoView) string {
			var lines []string
			for _, h := range v.Heads {
				line := fmt.Sprintf("%s %s  %s", h.Ref, cmp.Or(h.Folder, "."), command.Short(h.Revision))
				if h.Error != "" {
					line += "  " + h.Error
				}
				lines = append(lines, line)
			}
			return strings.Join(lines, "\n")
		}),
	)
}

func repoName(v repoView) string { return v.Name }

func printRepos(a *command.App, all []*hubv1.Repository) error {
	views := []repoView{}
	for _, r := range all {
		views = append(views, newRepoView(a, r))
	}
	return command.PrintList(a, views, repoName,
		command.Col("NAME", repoName),
		command.Col("TYPE", func(v repoView) string { return v.Type }),
		command.Col("HEALTH", func(v repoView) string { return v.Health }),
		command.Ages("FETCHED", func(v repoView) string { return v.LastFetchAge }),
		command.Col("SERVICES", func(v repoView) string { return strconv.Itoa(int(v.Services)) }),
		command.Wide("PROJECT", func(v repoView) string { return v.Project }),
		command.Wide("LOGIN", func(v repoView) string { return v.Auth }),
		command.Wide("VERIFIED BY", func(v repoView) string { return v.Verify }),
		command.Wide("MANAGED BY", func(v repoView) string { return v.ManagedBy.String() }),
		command.Wide("OWNER", func(v repoView) string { return v.Owner }),
		command.Col("URL", func(v repoView) string { return v.URL }),
		command.Col("MESSAGE", func(v repoView) string { return v.Message }),
	)
}

func listCommand(a *command.App) *cobra.Command {
	request := &hubv1.ListRepositoriesRequest{}
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List repositories with the age of their last fetch", Args: command.NoArgs,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			list, err := client.AllRepositories(c.Context(), request)
			if err != nil {
				return err
			}
			return printRepos(a, list)
		}),
	}
	c.Flags().StringVar(&request.Project, "project", "", "only repositories of this project")
	command.ManagedByFlag(c, &request.ManagedByTool)
	return c
}

func getCommand(a *command.App) *cobra.Command {
	return command.Gets(a, "Repository", "Show repositories, their health and their heads", "", printRepo, printRepos)
}

func addCommand(a *command.App) *cobra.Command {
	request := &hubv1.CreateRepositoryRequest{Management: command.Management()}
	var login repoLogin
	var wait time.Duration
	c := &cobra.Command{
		Use: "add NAME URL", Aliases: []string{"create"}, Short: "Register a repository and wait for its first fetch",
		Long:    repoAddLong,
		Example: repoAddExample,
		Args:    command.Exactly(2),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			request.Name, request.Url = args[0], args[1]
			var err error
			if request.Credentials, err = repoCredentials(a, &login); err != nil {
				return err
			}
			if request.Options, err = repoOptions(a, &login); err != nil {
				return err
			}
			request.Auth = login.auth
			made, err := client.Repositories.Create(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			if wait == 0 {
				return printRepo(a, made.Msg)
			}
			p := a.Begin("fetching %s for the first time", request.GetUrl())
			last := made.Msg
			_, err = a.PollUntil(c.Context(), wait, func(ctx context.Context) (bool, error) {
				r, err := client.Repositories.Get(ctx, connect.NewRequest(&hubv1.GetRepositoryRequest{Name: request.GetName()}))
				if err != nil {
					return false, err
				}
				last = r.Msg
				return last.GetLastFetchAt() > 0 || last.GetHealth() == "Failed", nil
			})
			p.End()
			if err != nil {
				return err
			}
			if err := printRepo(a, last); err != nil {
				return err
			}
			if last.GetHealth() == "Failed" {
				return errcode.New(errcode.Unavailable, "repository %s is registered, but cannot be fetched: %s; the hub keeps trying; fix it with axle repos update", request.GetName(), last.GetMessage())
			}
			return nil
		}),
	}
	c.Flags().StringVar(&request.Type, "type", "git", "git, helm (charts over http), oci (charts or manifests in a registry) or bucket (S3 and compatible)")
	command.Complete(c, "type", rule.RepositoryTypes...)
	c.Flags().StringVar(&request.Project, "project", "", "project of the repository (default: default)")
	c.Flags().DurationVar(&wait, "timeout", 5*time.Minute, "how long to wait for the first fetch; 0 does not wait")
	login.flags(c)
	return c
}

func updateCommand(a *command.App) *cobra.Command {
	var login repoLogin
	var url string
	management := command.Management()
	c := &cobra.Command{
		Use: "update NAME", Short: "Change the URL, credentials or options of a repository", Args: command.Exactly(1),
		Long: `New credentials replace all present ones, and new options replace all present options.
Fields without a flag are unchanged. --auth none removes the credentials.

Flags that change where credentials are sent, or who can read them on the way (--url, --proxy,
--endpoint, --region, --github-api-url, --plain-http, --pass-credentials), need the credentials
in the same call. With another URL the repository starts over: services keep their content
until the first fetch from the new URL, then get the content from there.`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			credentials, err := repoCredentials(a, &login)
			if err != nil {
				return err
			}
			options, err := repoOptions(a, &login)
			if err != nil {
				return err
			}
			if credentials == nil && options == nil && login.auth == "" && url == "" && !management.GetTakeOver() {
				return exitcode.Usagef("give something to change: --url, credentials or options, or --auth none to remove the credentials")
			}
			r, err := client.Repositories.Update(c.Context(), connect.NewRequest(&hubv1.UpdateRepositoryRequest{Name: args[0], Credentials: credentials, Auth: login.auth, Options: options, Url: url, Management: management}))
			if err != nil {
				return err
			}
			return printRepo(a, r.Msg)
		}),
	}
	c.Flags().StringVar(&url, "url", "", "new URL of the repository")
	command.TakeOverFlag(c, management)
	login.flags(c)
	return c
}

func refreshCommand(a *command.App) *cobra.Command {
	var wait bool
	c := &cobra.Command{
		Use: "refresh NAME", Short: "Fetch a repository now instead of within 2 minutes", Args: command.Exactly(1),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), 5*time.Minute)
			defer cancel()
			if wait {
				p := a.Begin("fetching %s", args[0])
				defer p.End()
			}
			r, err := client.Repositories.Refresh(ctx, connect.NewRequest(&hubv1.RefreshRepositoryRequest{Name: args[0], Wait: wait}))
			if err != nil {
				return err
			}
			if wait {
				return printRepo(a, r.Msg)
			}
			_, err = fmt.Fprintf(a.Err, "requested a fetch of %s\n", args[0])
			return err
		}),
	}
	c.Flags().BoolVar(&wait, "wait", false, "wait until the fetch has ended")
	return c
}

func deleteCommand(a *command.App) *cobra.Command {
	return command.Deletes(a, "Repository", "repository", "deleted", "Delete repositories that no service uses", "")
}
