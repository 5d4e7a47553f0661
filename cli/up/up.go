package up

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/install"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeapply"
)

// The control plane's place in the cluster, and the cluster's name at the hub.
const (
	release   = "axle"
	namespace = "axle"
	cluster   = "mgmt"
)

// maxAnswer bounds a line that a person types.
const maxAnswer = 4096

// builder is one run.
type builder struct {
	app *command.App
	run install.Runner

	dir                     string
	kubeconfig, kubeContext string
	values                  string
	given                   answers
	login                   login
	wait                    time.Duration
	dryRun                  bool

	// What the preflight found.
	answers *answers
	// begun is true if the folder has answers already.
	begun  bool
	files  map[string][]byte
	git    git
	remote upstream
	kube   *kubeapply.Applier
	// way is how this run reaches the Git server of the cluster, if it does.
	way *way
	// rows are what runs in the end.
	rows []row
}

// Command returns the command axle up.
func Command(a *command.App, run install.Runner) *cobra.Command {
	return command.Noun("up", "Make a GitOps repository, and a control plane that follows it", nil, local(a, run), upgrade(a))
}

func local(a *command.App, run install.Runner) *cobra.Command {
	b := &builder{app: a, run: run}
	c := &cobra.Command{
		Use:   "local --url URL --email EMAIL [--repo URL]",
		Short: "Generate a GitOps repository, and bring a cluster under it",
		Long: `From an empty folder to a fleet: generate a repository that declares it, commit and
push it, install the hub and its operator into the cluster of a kubeconfig (kind, k3d or
any other), connect that cluster as mgmt, and apply the root service, which applies the
rest of the repository. From then on, commits change the fleet. It ends with a table of
what runs, as the cluster reports it.

The repository is an empty one that you may push to. Its login comes from files and is
stored at the hub, never in the repository. Without --repo, one pod of the cluster serves
it, which is enough for a trial; README.md of the repository describes how to push to it, and
how to move to a Git host. Missing answers are asked for on a terminal.

Each step looks at what is there: a run that was interrupted goes on when the same command
is run again. Nothing that exists is overwritten, and a folder or a repository with
other content is refused before anything is written.

With --workload, the repository also declares two clusters, dev and prod, which the hub makes
with Cluster API on the cluster of the kubeconfig, from a template in the repository: docker
makes them of containers, bed of API servers of the test bed, to try. Cluster API with that
provider must be there. Clusters that exist are connected with axle clusters connect.`,
		Example: `  axle up local --url https://axle.example.com --email you@example.com --repo https://git.example.com/you/fleet.git --username you --password-file ../token
  axle up local --url https://axle.example.com --email you@example.com --repo ssh://git@git.example.com/you/fleet.git --ssh-key-file id_ed25519 --known-hosts-file known_hosts
  axle up local --url https://axle.example.com --email you@example.com
  axle up local --dry-run --url https://axle.example.com --email you@example.com --repo https://git.example.com/you/fleet.git
  axle up local --url https://axle.example.com --email you@example.com --workload docker
  axle up local --password-file ../token`,
		Args: command.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return b.local(c.Context()) },
	}
	flags := c.Flags()
	flags.StringVar(&b.dir, "dir", ".", "folder of the repository; it is created")
	flags.StringVar(&b.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster (default: $KUBECONFIG or ~/.kube/config)")
	flags.StringVar(&b.kubeContext, "kube-context", "", "context in the kubeconfig")
	flags.StringVar(&b.given.URL, "url", "", "address at which people and agents reach the hub, such as https://axle.example.com")
	flags.StringVar(&b.given.Email, "email", "", "e-mail of the first administrator, as whom to log in")
	flags.StringVar(&b.given.Repository, "repo", "", "URL of an empty Git repository, https or ssh (default: one pod of the cluster serves it)")
	_ = c.RegisterFlagCompletionFunc("repo", cobra.NoFileCompletions) // the hub does not know it yet
	flags.StringVar(&b.given.address, "git-address", "", "without --repo, HOST:PORT at which the hub reaches the Git server of the cluster (default: axle-git.axle.svc:8443)")
	flags.StringVar(&b.given.Name, "name", "", "name of the repository at the hub (default: fleet)")
	flags.StringVar(&b.given.Branch, "branch", "", "branch that is followed (default: main)")
	flags.StringVar(&b.given.Workload, "workload", "", "clusters to make beside this one: "+strings.Join(workloadNames(), ", ")+" (default: none)")
	_ = c.RegisterFlagCompletionFunc("workload", cobra.FixedCompletions(workloadNames(), cobra.ShellCompDirectiveNoFileComp))
	flags.StringVarP(&b.values, "values", "f", "", "file with values of the chart; it becomes values/axle.yaml of the repository (default: an authority of its own, and a load balancer)")
	flags.StringVar(&b.login.username, "username", "", "user name for https; any name if the password is a token")
	flags.StringVar(&b.login.passwordFile, "password-file", "", "file with the password or token of the repository; env:NAME for an environment variable")
	flags.StringVar(&b.login.sshKeyFile, "ssh-key-file", "", "file with the private key for ssh")
	flags.StringVar(&b.login.knownHostsFile, "known-hosts-file", "", "file with the server's host keys for ssh")
	flags.StringVar(&b.login.caFile, "ca-cert-file", "", "file with the certificate authority of the Git server")
	flags.DurationVar(&b.wait, "timeout", 10*time.Minute, "how long to wait until everything runs")
	flags.BoolVar(&b.dryRun, "dry-run", false, "check everything, print the files and the steps, and do nothing")
	return c
}

// step is one part of a run, that may be run again at any time.
type step struct {
	name, text string
	run        func(ctx context.Context) error
}

func (b *builder) steps() []step {
	return []step{
		{"preflight", "look at the folder, the repository and the cluster", b.preflight},
		{"generate", "write the files that are missing", b.generate},
		{"git", "run a Git server in the cluster, if the repository is nowhere else", b.serveGit},
		{"commit", "commit them, and push the branch", b.commit},
		{"install", "install the hub and its operator, and log in", b.install},
		{"connect", "connect the cluster itself as mgmt", b.connect},
		{"bootstrap", "register the repository, and apply the root service", b.bootstrap},
		{"verify", "wait until everything in the repository runs", b.verify},
	}
}

func (b *builder) local(ctx context.Context) error {
	defer b.close()
	steps := b.steps()
	if b.dryRun {
		if err := b.through(ctx, steps[:1], len(steps)); err != nil {
			return err
		}
		return b.plan(steps)
	}
	if err := b.through(ctx, steps, len(steps)); err != nil {
		return err
	}
	return b.finish(ctx)
}

// through goes through steps, which are the first of so many.
func (b *builder) through(ctx context.Context, steps []step, of int) error {
	for i, s := range steps {
		b.say("[%d/%d] %s: %s", i+1, of, s.name, s.text)
		began := time.Now()
		if err := s.run(ctx); err != nil {
			return stopped{s.name, err}
		}
		b.say("[%d/%d] %s: done in %.0f s", i+1, of, s.name, time.Since(began).Seconds())
	}
	return nil
}

// stopped is the error of a step; its code is that of what stopped it.
type stopped struct {
	step string
	error
}

func (s stopped) Error() string {
	return fmt.Sprintf("%s: %s", s.step, strings.TrimSuffix(s.error.Error(), "\n"))
}

func (s stopped) Unwrap() error { return s.error }

// ask asks on a terminal for what no flag answered.
func (b *builder) ask() {
	if !b.app.Interactive() || !output.IsTerminal(b.app.Err) {
		return
	}
	lines := bufio.NewReader(io.LimitReader(b.app.In, maxAnswer))
	for _, q := range b.given.questions() {
		if *q.into != "" {
			continue
		}
		fmt.Fprintf(b.app.Err, "%s: ", q.text)
		line, err := lines.ReadString('\n')
		if err != nil {
			fmt.Fprintln(b.app.Err)
			return // what is missing is named next
		}
		*q.into = strings.TrimSpace(line)
	}
}

// place finds the folder.
func (b *builder) place() error {
	dir, err := filepath.Abs(b.dir)
	if err != nil {
		return errcode.New(errcode.Invalid, "--dir: %w", err)
	}
	b.dir = dir
	return nil
}

// ownValues are the user's values of the control plane, nil if there are none.
func (b *builder) ownValues() ([]byte, error) {
	if b.values == "" {
		return nil, nil
	}
	text, err := os.ReadFile(b.values)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "read the values: %w", err)
	}
	return text, nil
}

// inCluster are the flags of other commands that name the cluster.
func (b *builder) inCluster() (args []string) {
	if b.kubeconfig != "" {
		args = append(args, "--kubeconfig", b.kubeconfig)
	}
	if b.kubeContext != "" {
		args = append(args, "--kube-context", b.kubeContext)
	}
	return args
}

func (b *builder) say(format string, args ...any) {
	if !b.app.Quiet {
		fmt.Fprintf(b.app.Err, format+"\n", args...)
	}
}
