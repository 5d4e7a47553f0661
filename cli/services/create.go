package services

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/chartvalues"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/finalline"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/sdk"
)

// specFlags are the parts of a service's spec that have a flag. fields holds
// the spec field of each flag, with the name that the hub's update uses.
type specFlags struct {
	spec        *hubv1.ServiceSpec
	ref, folder string
	files       []string
	release     string
	valuesFile  string
	values      []string
	// sets are added to --values-file if given, otherwise to before, the
	// service's present values.
	sets                 chartvalues.Sets
	before               string
	kustomize            string
	submodules, lfs      bool
	chart                hubv1.Helm
	sources              []string
	secretFiles          map[string]string
	dependencies         []string
	imports              []string
	createNamespace      bool
	ignoreHooks, ignoreC bool
}

var fieldOfFlag = map[string]string{
	"repo": "repository", "ref": "git.ref", "folder": "git.folder", "file": "git.files", "namespace": "namespace",
	"release": "helm.release", "values-file": "helm.values", "values": "helm.valuesFiles", "ignore-hooks": "helm.ignoreHooks", "ignore-crds": "helm.ignoreCrds",
	"chart": "helm.chart", "chart-version": "helm.version", "chart-repo": "helm.repository", "chart-url": "helm.url", "source": "sources", "submodules": "git.submodules", "lfs": "git.lfs",
	"kustomize": "kustomize.path", "set": "helm.values", "set-string": "helm.values", "set-file": "helm.values", "var": "configuration", "secret-file": "secrets", "depends-on": "dependencies",
	"bind": "contexts", "import": "imports",
	"create-namespace": "syncConfig.createNamespace", "protect": "protect", "adopt": "adopt", "drift": "drift", "service-account": "serviceAccount",
}

func (s *specFlags) flags(c *cobra.Command) {
	s.spec = &hubv1.ServiceSpec{}
	f := c.Flags()
	f.StringVar(&s.spec.Repository, "repo", "", "repository, by name")
	f.StringVar(&s.ref, "ref", "", "branch, tag or commit")
	f.StringVar(&s.folder, "folder", "", "folder in the repository")
	flagvalue.List(f, &s.files, "file", "more files of the repository, added at the root of the delivered files under their base names")
	f.StringVar(&s.spec.Namespace, "namespace", "", "namespace on the cluster (default: NAME)")
	f.StringVar(&s.release, "release", "", "Helm release name (default: NAME)")
	f.StringVar(&s.valuesFile, "values-file", "", "local file with Helm values that override all others")
	flagvalue.List(f, &s.values, "values", "values files in the repository's folder; later ones win")
	f.BoolVar(&s.ignoreHooks, "ignore-hooks", false, "leave Helm hooks out")
	f.BoolVar(&s.ignoreC, "ignore-crds", false, "leave the chart's crds folder out")
	f.BoolVar(&s.submodules, "submodules", false, "include the repository's submodules")
	f.BoolVar(&s.lfs, "lfs", false, "replace Git LFS pointers by their files")
	f.StringVar(&s.chart.Chart, "chart", "", "name of a chart from --chart-repo or --chart-url; --values are then first looked up in --folder")
	f.StringVar(&s.chart.Version, "chart-version", "", "version or range of the chart (default: the newest)")
	f.StringVar(&s.chart.Repository, "chart-repo", "", "chart repository, by name")
	f.StringVar(&s.chart.Url, "chart-url", "", "URL of a chart repository, https:// or oci://")
	f.StringArrayVar(&s.sources, "source", nil, "a further source: path=PATH,repo=NAME,ref=REF,folder=FOLDER or path=PATH,repo=NAME,chart=CHART,version=RANGE; may be repeated")
	f.StringVar(&s.kustomize, "kustomize", "", "path of the kustomization in the folder, when it is not its root")
	f.StringArrayVar(&s.sets.Plain, "set", nil, "chart values in the syntax of Helm's --set, over --values-file or the service's present values: image.tag=v2,hosts={a,b}")
	f.StringArrayVar(&s.sets.Strings, "set-string", nil, "chart values that are always strings")
	f.StringArrayVar(&s.sets.Files, "set-file", nil, "chart values read from local files, key=file")
	flagvalue.Pairs(f, &s.spec.Configuration, "var", "plain values for templates, KEY=VALUE, as they are; may be repeated")
	flagvalue.Pairs(f, &s.secretFiles, "secret-file", "secret values for templates, KEY=FILE, without one last line end; may be repeated")
	flagvalue.List(f, &s.spec.Contexts, "bind", "service contexts that the service takes values from, in order; for the same key the later one wins")
	flagvalue.List(f, &s.imports, "import", "outputs that the service imports, by name")
	flagvalue.List(f, &s.dependencies, "depends-on", "services that must be healthy first, NAME or CLUSTER/NAME on another cluster")
	f.BoolVar(&s.createNamespace, "create-namespace", true, "create the namespace")
	f.BoolVar(&s.spec.Protect, "protect", false, "refuse deletion")
	f.BoolVar(&s.spec.Adopt, "adopt", false, "take over existing objects that another tool or person created")
	f.StringVar(&s.spec.Drift, "drift", "", "what to do about drift: report (default) or strict")
	f.StringVar(&s.spec.ServiceAccount, "service-account", "", "service account to act as, NAMESPACE/NAME")
}

// build fills the spec and returns the fields whose flags were given.
func (s *specFlags) build(c *cobra.Command) (*hubv1.ServiceSpec, []string, error) {
	spec := s.spec
	changed := func(names ...string) bool {
		return slices.ContainsFunc(names, c.Flags().Changed)
	}
	if changed("ref", "folder", "file", "submodules", "lfs") {
		spec.Git = &hubv1.Git{Ref: s.ref, Folder: s.folder, Files: s.files, Submodules: s.submodules, Lfs: s.lfs}
	}
	if changed("release", "values-file", "values", "set", "set-string", "set-file", "ignore-hooks", "ignore-crds", "chart", "chart-version", "chart-repo", "chart-url") {
		spec.Helm = &hubv1.Helm{
			Release: s.release, ValuesFiles: s.values, IgnoreHooks: s.ignoreHooks, IgnoreCrds: s.ignoreC,
			Chart: s.chart.GetChart(), Version: s.chart.GetVersion(), Repository: s.chart.GetRepository(), Url: s.chart.GetUrl(),
		}
	}
	for _, text := range s.sources {
		source, err := parseSource(text)
		if err != nil {
			return nil, nil, err
		}
		spec.Sources = append(spec.Sources, source)
	}
	if err := s.chartValues(); err != nil {
		return nil, nil, err
	}
	if s.kustomize != "" {
		spec.Kustomize = &hubv1.Kustomize{Path: s.kustomize}
	}
	if changed("create-namespace") {
		spec.SyncConfig = &hubv1.SyncConfig{CreateNamespace: &s.createNamespace}
	}
	for _, name := range s.imports {
		s.spec.Imports = append(s.spec.Imports, &hubv1.Import{Stack: name})
	}
	for _, text := range s.dependencies {
		on := &hubv1.Dependency{Name: text}
		if cluster, name, elsewhere := strings.Cut(text, "/"); elsewhere {
			on.Cluster, on.Name = cluster, name
		}
		spec.Dependencies = append(spec.Dependencies, on)
	}
	for key, file := range s.secretFiles {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, errcode.New(errcode.Invalid, "secret %s: %w", key, err)
		}
		if spec.Secrets == nil {
			spec.Secrets = map[string]string{}
		}
		spec.Secrets[key] = finalline.Cut(string(data))
	}
	var fields []string
	for flag, field := range fieldOfFlag {
		if changed(flag) {
			fields = append(fields, field)
		}
	}
	slices.Sort(fields)
	return spec, slices.Compact(fields), nil
}

// chartValues reads the chart values and applies the --set flags.
func (s *specFlags) chartValues() error {
	if s.valuesFile != "" {
		data, err := os.ReadFile(s.valuesFile)
		if err != nil {
			return errcode.New(errcode.Invalid, "%w", err)
		}
		s.spec.Helm.Values = string(data)
	}
	if !s.sets.Any() {
		return nil
	}
	values, err := s.sets.Into(cmp.Or(s.spec.Helm.Values, s.before))
	s.spec.Helm.Values = values
	return err
}

// parseSource parses "path=a,repo=fleet,ref=main,folder=b".
func parseSource(text string) (*hubv1.Source, error) {
	source, git := &hubv1.Source{}, &hubv1.Git{}
	into := map[string]*string{
		"path": &source.Path, "repo": &source.Repository, "chart": &source.Chart, "version": &source.Version, "url": &source.Url,
		"ref": &git.Ref, "folder": &git.Folder,
	}
	for _, pair := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(pair, "=")
		field := into[key]
		if !ok || field == nil {
			return nil, exitcode.Usagef("--source %q: %q is not one of path=, repo=, ref=, folder=, chart=, version= or url=", text, pair)
		}
		if *field != "" {
			return nil, exitcode.Usagef("--source %q has %s= twice", text, key)
		}
		*field = value
	}
	if git.GetRef() != "" || git.GetFolder() != "" {
		source.Git = git
	}
	return source, nil
}

func createCommand(a *command.App) *cobra.Command {
	var flags specFlags
	var wait waiting
	var cluster, project string
	var dryRun bool
	c := &cobra.Command{
		Use: "create CLUSTER/NAME", Short: "Deliver a folder of a repository to a cluster",
		Long: `Deliver a folder of a repository to a cluster. Helm renders a folder with a
Chart.yaml, and Kustomize one with a kustomization.yaml. The manifests of any other
folder are applied as they are.`,
		Example: `  axle services create edge-1/web --repo fleet --ref main --folder apps/web --wait
  axle services create web --cluster edge-1 --repo fleet --ref v1.2.0 --folder charts/web --values-file my-values.yaml
  axle services create edge-1/queue --chart-url https://charts.example.test --chart queue --chart-version 2.x --repo fleet --ref main --folder helm --values queue.yaml
  axle services create edge-1/shop --repo fleet --ref main --folder apps/shop --source path=rules,repo=policy,ref=v2,folder=base`,
		Args: command.Exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			ref, err := command.ServiceRef(args[0], cluster)
			if err != nil {
				return err
			}
			spec, _, err := flags.build(c)
			if err != nil {
				return err
			}
			if spec.GetGit() == nil && spec.GetHelm().GetChart() == "" && len(spec.GetSources()) == 0 {
				return exitcode.Usagef("name what to deliver: --repo NAME --ref REF --folder FOLDER, or a chart with --chart-url URL --chart NAME, or --source")
			}
			client, err := a.Client()
			if err != nil {
				return err
			}
			s, err := client.Services.Create(c.Context(), connect.NewRequest(&hubv1.CreateServiceRequest{Ref: ref, Spec: spec, Project: project, DryRun: dryRun, Management: command.Management()}))
			if err != nil {
				return err
			}
			if dryRun {
				fmt.Fprintf(a.Err, "%s/%s can be created (dry run, nothing stored)\n", ref.GetCluster(), ref.GetName())
				return printService(a, s.Msg)
			}
			fmt.Fprintf(a.Err, "service %s/%s created\n", ref.GetCluster(), ref.GetName())
			for _, field := range s.Msg.GetNotActing() {
				fmt.Fprintf(a.Err, "Warning: %s is stored, but has no effect yet\n", field)
			}
			if spec.GetServiceAccount() == "" {
				command.NoteAccount(c.Context(), a, client, s.Msg.GetProject())
			}
			if wait.wanted {
				return waitFor(c.Context(), a, client, []*hubv1.ServiceRef{ref}, wait)
			}
			return nil
		},
	}
	flags.flags(c)
	wait.flags(c)
	c.Flags().StringVar(&cluster, "cluster", "", "cluster, if the argument is only NAME")
	c.Flags().StringVar(&project, "project", "", "project (default: the cluster's)")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "check everything, store nothing")
	return c
}

func updateCommand(a *command.App) *cobra.Command {
	var flags specFlags
	var wait waiting
	var dryRun bool
	selected := &selector{verb: "update", done: "updated", declares: true}
	management := command.Management()
	c := &cobra.Command{
		Use: "update CLUSTER/NAME", Short: "Change only the fields given by flags",
		Example: `  axle services update edge-1/web --ref v1.3.0 --wait
  axle services update web --cluster tier=edge --ref v1.3.0
  axle services update edge-1/web --take-over`,
		Args: selected.args(command.Exactly(1)),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			request := &hubv1.UpdateServiceRequest{DryRun: dryRun, Management: management}
			if selected.selects(args) {
				return updateSelected(c, a, client, updating{&flags, selected, request, wait}, args)
			}
			ref, err := command.ServiceRef(args[0], selected.cluster)
			if err != nil {
				return err
			}
			if flags.sets.Any() {
				s, err := client.Services.Get(c.Context(), connect.NewRequest(&hubv1.GetServiceRequest{Ref: ref}))
				if err != nil {
					return err
				}
				flags.before = s.Msg.GetSpec().GetHelm().GetValues()
			}
			if err := flags.change(c, request); err != nil {
				return err
			}
			request.Ref = ref
			s, err := client.Services.Update(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			if dryRun {
				fmt.Fprintf(a.Err, "%s/%s can be changed (dry run, nothing stored)\n", ref.GetCluster(), ref.GetName())
				return printService(a, s.Msg)
			}
			fmt.Fprintf(a.Err, "service %s/%s updated, revision %d\n", ref.GetCluster(), ref.GetName(), s.Msg.GetRevision())
			if wait.wanted {
				return waitFor(c.Context(), a, client, []*hubv1.ServiceRef{ref}, wait)
			}
			return nil
		}),
	}
	flags.flags(c)
	wait.flags(c)
	selected.flags(c)
	command.TakeOverFlag(c, management)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "check everything, store nothing")
	return c
}

// change puts what the flags say into a request.
func (f *specFlags) change(c *cobra.Command, request *hubv1.UpdateServiceRequest) error {
	spec, fields, err := f.build(c)
	if err != nil {
		return err
	}
	if len(fields) == 0 {
		if spec = nil; !request.GetManagement().GetTakeOver() {
			return exitcode.Usagef("give a flag for what to change, such as --ref")
		}
	}
	request.Spec, request.Fields = spec, fields
	return nil
}

// updating is a change of selected services.
type updating struct {
	flags    *specFlags
	selected *selector
	request  *hubv1.UpdateServiceRequest
	wait     waiting
}

// updateSelected makes the same change in all selected services. With --dry-run the hub
// checks it for each of them.
func updateSelected(c *cobra.Command, a *command.App, client *sdk.Client, u updating, names []string) error {
	if u.flags.sets.Any() {
		return exitcode.Usagef("--set and its like change the values of one service: name it as CLUSTER/NAME, or give all values with --values-file")
	}
	if err := u.flags.change(c, u.request); err != nil {
		return err
	}
	if u.request.GetDryRun() {
		u.selected.done, u.selected.yes = "can be changed", true
	}
	refs, err := u.selected.run(c.Context(), a, client, names, func(ctx context.Context, ref *hubv1.ServiceRef) error {
		request := proto.CloneOf(u.request)
		request.Ref = ref
		_, err := client.Services.Update(ctx, connect.NewRequest(request))
		return err
	})
	if err == nil && u.wait.wanted && !u.request.GetDryRun() {
		return waitFor(c.Context(), a, client, refs, u.wait)
	}
	return err
}
