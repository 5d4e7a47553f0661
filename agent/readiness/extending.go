package readiness

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/plain"
)

// extension is a kind whose objects act on the cluster as a whole. Whoever may write one has
// rights in the whole cluster, so a tenant cannot pretend to run an add-on.
type extension struct {
	schema.GroupVersionResource
	kind string
	// extends is set for what changes the API server or the nodes; the others are rights.
	extends bool
}

func extends(group, resource, kind string) extension {
	return extension{schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, kind, true}
}

var extensions = []extension{
	extends("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition"),
	extends("admissionregistration.k8s.io", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
	extends("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
	extends("apiregistration.k8s.io", "apiservices", "APIService"),
	extends("storage.k8s.io", "csidrivers", "CSIDriver"),
	extends("storage.k8s.io", "storageclasses", "StorageClass"),
	extends("networking.k8s.io", "ingressclasses", "IngressClass"),
	extends("node.k8s.io", "runtimeclasses", "RuntimeClass"),
	{schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}, "ClusterRole", false},
	{schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}, "ClusterRoleBinding", false},
}

// system is the namespace in which only administrators of a cluster write.
const system = metav1.NamespaceSystem

// What Helm, charts and people write on objects.
const (
	ofRelease   = "meta.helm.sh/release-name"
	ofNamespace = "meta.helm.sh/release-namespace"
	ofChart     = "helm.sh/chart"
	ofApp       = "app.kubernetes.io/name"
	ofVersion   = "app.kubernetes.io/version"
	ofInstance  = "app.kubernetes.io/instance"
)

// addonKey is one add-on: a release, a service, or the chart of another tool with its instance.
type addonKey struct{ namespace, release, service, chart, instance string }

// found is an add-on that objects show.
type foundAddon struct {
	addonKey
	// object is the first object that shows it, and path the list of such objects.
	object, path string
	extends      bool
	// charts are the labels of its objects; app and version those of the first that has both.
	charts       []string
	app, version string
}

// extended looks for the add-ons: what has objects that act on the cluster as a whole.
func (a *asked) extended(ctx context.Context) error {
	for _, e := range extensions {
		err := a.each(ctx, e.GroupVersionResource, "", metav1.ListOptions{}, func(o *metav1.PartialObjectMetadata) { a.extendedBy(e, o) })
		if err != nil && !apierrors.IsNotFound(err) { // an API server may not serve the group
			return errcode.New(errcode.Unavailable, "the agent cannot list %s.%s: %w", e.Resource, e.Group, err)
		}
	}
	return nil
}

// extendedBy notes the add-on that an object belongs to.
func (a *asked) extendedBy(e extension, o *metav1.PartialObjectMetadata) {
	if o.Labels["kubernetes.io/bootstrapping"] != "" || o.Labels["kube-aggregator.kubernetes.io/automanaged"] != "" {
		return // the API server's own
	}
	key := addonKey{release: o.Annotations[ofRelease], namespace: o.Annotations[ofNamespace]}
	if service := a.ownerOf(e.Group, e.kind, "", o.Name); service != "" {
		key = addonKey{service: service}
	} else if key.release == "" {
		key = addonKey{chart: o.Labels[ofChart], instance: o.Labels[ofInstance]}
	}
	if key == (addonKey{instance: key.instance}) {
		if e.extends {
			a.unattributed++
		}
		return
	}
	one := a.noted(key, e.kind+" "+o.Name, "/apis/"+e.Group+"/"+e.Version+"/"+e.Resource)
	one.extends = one.extends || e.extends
	if c := o.Labels[ofChart]; c != "" && !slices.Contains(one.charts, c) && len(one.charts) < maxLabels {
		one.charts = append(one.charts, c)
	}
	if one.app == "" && o.Labels[ofApp] != "" && o.Labels[ofVersion] != "" {
		one.app, one.version = o.Labels[ofApp], o.Labels[ofVersion]
	}
}

const (
	// maxLabels is how many different labels of one add-on are kept.
	maxLabels = 20
	// maxLabel is the length of a label that charts have cut: it has no more than 63 characters,
	// and they cut what it ends with.
	maxLabel = 62
)

// noted is an add-on of a key, which an object shows.
func (a *asked) noted(key addonKey, object, path string) *foundAddon {
	one, known := a.extending[key]
	if !known {
		one = &foundAddon{addonKey: key, object: object, path: path}
		a.extending[key] = one
	}
	return one
}

// labelled is the name and the version of a chart in the label that charts give their objects.
var labelled = regexp.MustCompile(`^(.+?)-(v?[0-9]+\.[0-9]+\.[0-9]+.*)$`)

// chartOf reads such a label; the version is empty if it has none.
func chartOf(label string) (name, version string) {
	if m := labelled.FindStringSubmatch(label); m != nil {
		return m[1], unlabelled(m[2])
	}
	return label, ""
}

// unlabelled is a version as it was before a chart made a label of it: labels have no plus sign.
func unlabelled(version string) string { return strings.ReplaceAll(version, "_", "+") }

// contradicts returns the label of an add-on's objects that has another version of the
// record's chart, where none has the record's: whoever may write Secrets in the namespace of an
// add-on writes its record, but not these objects.
func (f *foundAddon) contradicts(of chart) string {
	other := ""
	for _, label := range f.charts {
		name, version := chartOf(label)
		switch {
		case name != of.Name || version == "":
		case version == of.Version, len(label) >= maxLabel && strings.HasPrefix(of.Version, strings.TrimRight(version, "-_.+")):
			return ""
		default:
			other = label
		}
	}
	return other
}

// report is an add-on without a record of Helm.
func (f *foundAddon) report() *agentv1.ReadinessAddon {
	out := &agentv1.ReadinessAddon{Release: f.release, Namespace: f.namespace, ServiceId: f.service, Object: plain.Line(f.object, maxChartText)}
	slices.Sort(f.charts)
	switch {
	case len(f.charts) > 0:
		out.Chart, out.Version = chartOf(plain.Line(f.charts[0], maxChartText))
	case f.app != "":
		out.Chart = plain.Line(f.app, maxChartText)
	}
	out.AppVersion = plain.Line(unlabelled(f.version), maxChartText)
	if out.GetRelease() == "" && f.service == "" {
		out.Release = plain.Line(f.instance, maxChartText)
	}
	return out
}

// found are the add-ons in order.
func (a *asked) foundAddons() []*foundAddon {
	var all []*foundAddon
	for _, one := range a.extending {
		all = append(all, one)
	}
	slices.SortFunc(all, func(x, y *foundAddon) int {
		return cmp.Or(cmp.Compare(x.service, y.service), cmp.Compare(x.namespace, y.namespace), cmp.Compare(x.release, y.release), cmp.Compare(x.chart, y.chart), cmp.Compare(x.instance, y.instance))
	})
	return all
}
