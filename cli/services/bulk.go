package services

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/confirm"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

const (
	// bulkAtOnce bounds the requests of one bulk command at the same time.
	bulkAtOnce = 16
	// bulkNamed bounds the services that a question names.
	bulkNamed = 10
)

const bulkLong = `
Instead of CLUSTER/NAME, select services: --cluster KEY=VALUE selects the clusters with a
tag, --cluster NAME one cluster, --project those of a project, and --all all that you may
read. NAMEs then narrow the selection. On a terminal the command shows what is selected
and asks. The exit code is 1 if some services failed.`

// selector selects the services of a bulk command.
type selector struct {
	verb, done   string
	cluster      string
	project      string
	all          bool
	yes, preview bool
	// single is for a verb that is not for several services.
	single bool
	// declares leaves out services that a global service declares: the hub refuses to
	// change them.
	declares bool
}

// flags adds the flags, and --dry-run to a verb that has none.
func (s *selector) flags(c *cobra.Command) {
	if s.single {
		c.Flags().StringVar(&s.cluster, "cluster", "", "cluster, if the arguments are only NAMEs")
		return
	}
	if !s.declares {
		c.Flags().BoolVar(&s.preview, "dry-run", false, "show which services are selected, and do nothing")
	}
	c.Flags().StringVar(&s.cluster, "cluster", "", "cluster, if the arguments are only NAMEs; or KEY=VALUE,… for all clusters with these tags")
	c.Flags().StringVar(&s.project, "project", "", "select the services of this project")
	c.Flags().BoolVar(&s.all, "all", false, "select all services that you may read")
	c.Flags().BoolVarP(&s.yes, "yes", "y", false, "do not ask before several services are changed; without a terminal the command never asks")
	if c.Long != "" {
		c.Long += "\n"
	} else {
		c.Long = c.Short + ".\n"
	}
	c.Long += bulkLong
}

// selects reports whether the command line selects services instead of naming them.
func (s *selector) selects(args []string) bool {
	return !s.single && (s.all || s.project != "" || strings.Contains(s.cluster, "=") || s.cluster != "" && len(args) == 0)
}

// args checks the arguments: those of the command without a selection, and names with one.
func (s *selector) args(named cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if !s.selects(args) {
			return named(c, args)
		}
		for _, name := range args {
			if strings.Contains(name, "/") {
				return exitcode.Usagef("%q names one service, and the flags select several; give only its NAME, or no --cluster, --project and --all", name)
			}
		}
		_, err := s.tags()
		return exitcode.Usage(err)
	}
}

// tags are those of --cluster, nil if it is the name of one.
func (s *selector) tags() (map[string]string, error) {
	if !strings.Contains(s.cluster, "=") {
		return nil, nil
	}
	tags := map[string]string{}
	for pair := range strings.SplitSeq(s.cluster, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if _, twice := tags[key]; !ok || key == "" || twice {
			return nil, fmt.Errorf("--cluster %q: %q is no KEY=VALUE, or its key is there twice", s.cluster, pair)
		}
		tags[key] = value
	}
	return tags, nil
}

// find reads the selected services. It asks for the services of the selected clusters,
// page by page, and of no others.
func (s *selector) find(ctx context.Context, client *sdk.Client, names []string) ([]*hubv1.Service, error) {
	tags, err := s.tags()
	if err != nil {
		return nil, err
	}
	clusters := []string{s.cluster}
	if tags != nil {
		list, err := client.AllClusters(ctx, &hubv1.ListClustersRequest{Tags: tags})
		if err != nil {
			return nil, err
		}
		clusters = nil
		for _, c := range list {
			clusters = append(clusters, c.GetName())
		}
	}
	if len(names) == 0 {
		names = []string{""}
	}
	found := make([][]*hubv1.Service, len(clusters)*len(names))
	errs := each(ctx, len(found), func(i int) (err error) {
		found[i], err = command.ListServices(ctx, client, &hubv1.ListServicesRequest{Cluster: clusters[i/len(names)], Name: names[i%len(names)], Project: s.project, Brief: true})
		return err
	}, nil)
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	all := slices.DeleteFunc(slices.Concat(found...), func(one *hubv1.Service) bool {
		return one.GetDeleting() || one.GetParentId() == "hub" || s.declares && one.GetManagedBy().GetTool() == "hub"
	})
	if len(all) == 0 {
		return nil, errcode.New(errcode.NotFound, "no service that you may read is selected")
	}
	return all, nil
}

// each runs something n times, at most bulkAtOnce at the same time. What has not begun
// when ctx ends gets its error. said, if not nil, is called after each.
func each(ctx context.Context, n int, run func(i int) error, said func(done, failed int)) []error {
	errs := make([]error, n)
	places := make(chan struct{}, bulkAtOnce)
	var mu sync.Mutex
	var all sync.WaitGroup
	done, failed := 0, 0
	for i := range n {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			if errs[i] = ctx.Err(); errs[i] == nil {
				errs[i] = run(i)
			}
			mu.Lock()
			defer mu.Unlock()
			if done++; errs[i] != nil {
				failed++
			}
			if said != nil {
				said(done, failed)
			}
		})
	}
	all.Wait()
	return errs
}

// each runs the verb for services by their names, one after the other, and ends with the
// first error. It says what was done, unless done is empty.
func (s *selector) each(ctx context.Context, a *command.App, args []string, one func(context.Context, *hubv1.ServiceRef) error) (refs []*hubv1.ServiceRef, _ error) {
	for _, argument := range args {
		ref, err := command.ServiceRef(argument, s.cluster)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	if s.preview {
		results := make([]bulkResult, len(refs))
		for i, ref := range refs {
			results[i] = bulkResult{ref.GetCluster(), ref.GetName(), "selected", ""}
		}
		return nil, s.print(a, results)
	}
	for _, ref := range refs {
		if err := one(ctx, ref); err != nil {
			return nil, fmt.Errorf("%s/%s: %w", ref.GetCluster(), ref.GetName(), err)
		}
		if s.done != "" {
			fmt.Fprintf(a.Err, "%s/%s: %s\n", ref.GetCluster(), ref.GetName(), s.done)
		}
	}
	return refs, nil
}

// bulkResult is what became of one service.
type bulkResult struct {
	Cluster string `json:"cluster"`
	Name    string `json:"name"`
	// Result is the verb's word, "selected" for a dry run, or "failed".
	Result string `json:"result"`
	Error  string `json:"error"`
}

// run selects services, asks, and runs the verb for each. It returns those for which
// it succeeded.
func (s *selector) run(ctx context.Context, a *command.App, client *sdk.Client, names []string, one func(context.Context, *hubv1.ServiceRef) error) ([]*hubv1.ServiceRef, error) {
	services, err := s.find(ctx, client, names)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%s %s: %s", s.verb, output.Count(len(services), "service"), named(services))
	results := make([]bulkResult, len(services))
	for i, service := range services {
		results[i] = bulkResult{service.GetCluster(), service.GetName(), "selected", ""}
	}
	if s.preview {
		return nil, s.print(a, results)
	}
	question := confirm.Question{
		Terminal: a.Interactive() && output.IsTerminal(a.Err), Yes: s.yes, In: a.In, Err: a.Err,
		Text: strings.ToUpper(what[:1]) + what[1:], Command: confirm.Line(slices.Concat([]string{"axle"}, a.Args, []string{"--yes"})),
	}
	if err := question.Ask(); err != nil {
		return nil, err
	}
	p := a.Begin("%s", what)
	errs := each(ctx, len(services), func(i int) error {
		return one(ctx, &hubv1.ServiceRef{Cluster: results[i].Cluster, Name: results[i].Name})
	}, func(done, failed int) {
		if output.IsTerminal(a.Err) {
			p.Say("%s: %d of %d done, %d failed", s.verb, done, len(services), failed)
		}
	})
	p.End()
	var refs []*hubv1.ServiceRef
	failed := 0
	for i, err := range errs {
		if results[i].Result = s.done; err != nil {
			failed++
			results[i].Result, results[i].Error = "failed", errcode.Text(err)
			continue
		}
		refs = append(refs, &hubv1.ServiceRef{Cluster: results[i].Cluster, Name: results[i].Name})
	}
	err = s.print(a, results)
	if err == nil && failed > 0 {
		err = exitcode.With(errcode.New(errcode.Of(firstError(errs)), "%d of %s failed", failed, output.Count(len(services), "service")), exitcode.Failed)
	}
	return refs, err
}

func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *selector) print(a *command.App, results []bulkResult) error {
	return command.PrintList(a, results, func(r bulkResult) string { return r.Cluster + "/" + r.Name },
		command.Col("CLUSTER", func(r bulkResult) string { return r.Cluster }),
		command.Col("SERVICE", func(r bulkResult) string { return r.Name }),
		command.Col("RESULT", func(r bulkResult) string { return r.Result }),
		command.Col("ERROR", func(r bulkResult) string { return r.Error }),
	)
}

// named are the names of the first services, and how many more there are.
func named(services []*hubv1.Service) string {
	var names []string
	for _, s := range services[:min(len(services), bulkNamed)] {
		names = append(names, s.GetCluster()+"/"+s.GetName())
	}
	text := strings.Join(names, ", ")
	if more := len(services) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
