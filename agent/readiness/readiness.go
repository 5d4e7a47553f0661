package readiness

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/kubepage"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/removals"
)

const (
	// maxFindings is how many findings of one check are in a report.
	maxFindings = 500
	// pageSize is how many objects are read at once.
	pageSize = 100
	// limit bounds one report: the hub waits a minute for it.
	limit = 50 * time.Second
	// atATime is how many reports are made together, one for each person.
	atATime = 3
)

// Inventory is what services have in the cluster; *apply.Engine implements it.
type Inventory interface {
	Services() []string
	Objects(service string) []kubeobj.Expected
}

// Checker makes reports.
type Checker struct {
	conf  *rest.Config
	owned Inventory
	// making are the reports that are made, by person.
	making *pool.Places
	// unpacking is held while a release is unpacked.
	unpacking sync.Mutex
}

// New returns a Checker that reads with the rights of the configuration, and whose pool the
// set has. It keeps no clients: most agents are never asked.
func New(conf *rest.Config, owned Inventory, pools *pool.Set) *Checker {
	return &Checker{conf: conf, owned: owned, making: pools.Places(pool.Spec{
		Name: "readiness_reports", Of: "reports about versions", Size: atATime, Share: 1, Queue: 16, Within: limit / 2, Retry: time.Minute,
	})}
}

// asked is one question.
type asked struct {
	*Checker
	client kubernetes.Interface
	view   *view
	to     *version.Version
	// owners are the services by their objects.
	owners map[kubeobj.Ref]string
	// ofReleases is the check of releases, and charts are those that it found; ofAddons are
	// those of add-ons.
	ofReleases *agentv1.ReadinessCheck
	charts     []*agentv1.ReadinessAddon
	ofAddons   map[*agentv1.ReadinessAddon]bool
	// extending are the add-ons, and unattributed the number of objects that show one which
	// nothing names.
	extending    map[addonKey]*foundAddon
	unattributed int
	// podsUnread is why pods cannot be compared with budgets; it is found out once.
	podsUnread error
}

// ask begins a question.
func (c *Checker) ask(viewer Viewer, to *version.Version) (a *asked, err error) {
	a = &asked{Checker: c, to: to, owners: map[kubeobj.Ref]string{}, extending: map[addonKey]*foundAddon{}}
	if a.client, err = kubernetes.NewForConfig(c.conf); err != nil {
		return nil, err
	}
	for _, service := range c.owned.Services() {
		for _, o := range c.owned.Objects(service) {
			a.owners[o.Ref] = service
		}
	}
	a.view, err = c.view(viewer)
	return a, err
}

// check is one check of a question. Its error becomes a part of the report.
type check struct {
	name string
	run  func(a *asked, ctx context.Context, r *result) error
}

var checks = []check{
	{"applied", (*asked).applied},
	{"requested", (*asked).requested},
	{"releases", (*asked).releases},
	{"addons", (*asked).addons}, // of what releases found
	{"charts", (*asked).others}, // of what is none of them
	{"budgets", (*asked).budgets},
	{"nodes", (*asked).nodes},
}

// Report returns what speaks against a version. The error is Invalid for one that the
// cluster cannot go to.
func (c *Checker) Report(ctx context.Context, viewer Viewer, to string) (*agentv1.ReadinessReport, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	place, err := c.making.Wait(ctx, pool.Caller{Name: viewer.User})
	if err != nil {
		return nil, err
	}
	defer place.Leave()
	target, err := removals.Version(to)
	if err != nil {
		return nil, err
	}
	a, err := c.ask(viewer, target)
	if err != nil {
		return nil, err
	}
	served, err := a.client.Discovery().ServerVersion()
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "the agent cannot read the version of its API server: %w", err)
	}
	first, err := route(served.GitVersion, target)
	if err != nil {
		return nil, err
	}
	report := &agentv1.ReadinessReport{KubernetesVersion: served.GitVersion, Checks: []*agentv1.ReadinessCheck{first}}
	for _, one := range checks {
		r := &result{asked: a, check: &agentv1.ReadinessCheck{Name: one.name}}
		if err := one.run(a, ctx, r); err != nil {
			r.incomplete(errcode.Text(err))
		}
		report.Checks = append(report.Checks, r.done())
	}
	return report, nil
}

// each calls back with the metadata of each object of a resource: those of tenants may be as large
// as etcd takes them, and a page of them all at once would take the agent's memory.
func (a *asked) each(ctx context.Context, of schema.GroupVersionResource, namespace string, options metav1.ListOptions, do func(*metav1.PartialObjectMetadata)) error {
	path := kubepage.Path(of, namespace)
	options.Limit = pageSize
	return paged(func(more string) (string, error) {
		options.Continue = more
		request := a.client.CoreV1().RESTClient().Get().AbsPath(path...).SetHeader("Accept", acceptMetadata).VersionedParams(&options, scheme.ParameterCodec)
		page, err := kubepage.Each(ctx, request, func(item []byte) error {
			var o metav1.PartialObjectMetadata
			if err := kubepage.Decode(item, &o); err != nil {
				return err
			}
			do(&o)
			return nil
		})
		return page.Continue, err
	})
}

const acceptMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// paged calls read with the place of each page. It returns that of the next one, which is
// empty for the last.
func paged(read func(more string) (next string, _ error)) error {
	more, err := read("")
	for err == nil && more != "" {
		more, err = read(more)
	}
	return err
}

// route is the check of the version itself: control planes go from one minor version to the
// next, never back, and nobody knows all that a later version will remove.
func route(now string, to *version.Version) (*agentv1.ReadinessCheck, error) {
	have, err := removals.Version(now)
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "the API server reports the version %.40q, which this agent cannot read", now)
	}
	c := &agentv1.ReadinessCheck{Name: "version", Examined: 1}
	switch {
	case to.Minor() < have.Minor(), to.Minor() == have.Minor() && len(to.Components()) > 2 && to.Patch() < have.Patch():
		return nil, errcode.New(errcode.Invalid, "the cluster runs Kubernetes %s, and no upgrade leads back to %s", now, to)
	case to.Minor() > have.Minor()+1:
		c.Findings = append(c.Findings, &agentv1.ReadinessFinding{Message: "an upgrade goes from one minor version to the next: the step from " + now + " is to " + removals.Minor(have.Minor()+1) + "; ask about that first"})
	}
	if to.Minor() > removals.Known {
		c.Incomplete = "this agent knows Kubernetes up to " + removals.Minor(removals.Known) + ": of later versions it lists the removals that were planned then; upgrade hub and agents"
	}
	return c, nil
}

// result collects one check.
type result struct {
	asked *asked
	check *agentv1.ReadinessCheck
}

func (r *result) examined(n int) { r.check.Examined += int32(n) }

// incomplete adds a reason why not all was looked at; the first few are enough.
func (r *result) incomplete(why string) {
	switch {
	case r.check.Incomplete == "":
		r.check.Incomplete = why
	case len(r.check.Incomplete) < 1000:
		r.check.Incomplete += "; " + why
	}
}

// found adds a finding. One about no service's object is counted unless the caller may list
// the objects of path; path is empty for what has no object.
func (r *result) found(ctx context.Context, f *agentv1.ReadinessFinding, path string) error {
	if f.GetServiceId() == "" && path != "" {
		may, err := r.asked.view.may(ctx, path)
		if err != nil {
			return err
		}
		if !may {
			r.check.Withheld++
			return nil
		}
	}
	if len(r.check.GetFindings()) >= maxFindings {
		r.check.LeftOut++
		return nil
	}
	r.check.Findings = append(r.check.Findings, f)
	return nil
}

// done orders the findings, so that the same cluster gives the same report.
func (r *result) done() *agentv1.ReadinessCheck {
	slices.SortStableFunc(r.check.GetFindings(), func(a, b *agentv1.ReadinessFinding) int {
		return cmp.Or(cmp.Compare(b.GetServiceId(), a.GetServiceId()), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetRelease(), b.GetRelease()),
			cmp.Compare(a.GetGroup(), b.GetGroup()), cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return r.check
}
