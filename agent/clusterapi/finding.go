package clusterapi

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/plain"
)

// The reasons of the condition Ready.
const (
	reasonConnected = "Connected"
	reasonWaiting   = "Waiting"
	// reasonUnsupported: a field is set that does not act. reasonUndecided: nobody decided
	// whether the writer may.
	reasonUnsupported = "Unsupported"
	reasonUndecided   = "Undecided"
	reasonConflict    = "Conflict"
	reasonRefused     = "Refused"
	reasonInvalid     = "Invalid"
	reasonError       = "Error"
)

// maxMessage bounds the text of a condition, in bytes: a control plane may answer anything.
const maxMessage = 500

// look is an object as one pass saw it.
type look struct {
	object v1alpha1.PluralCAPICluster
	// at is its Cluster.
	at place
	// refusal is set for one that nothing is read for.
	refusal *result
}

// result is what a look at an object found.
type result struct {
	reason, message string
	// id is that of the cluster in the hub, once it is connected.
	id string
}

// connect connects the cluster of an object, as far as that is possible now.
func (f *Finder) connect(ctx context.Context, one *finding, l look) result {
	if l.refusal != nil {
		return *l.refusal
	}
	uid, why, err := f.cluster(ctx, l.at)
	var state installation
	if err == nil && why == "" {
		state, why, err = f.clusters.join(ctx, l.at, &one.inquiry, func(ctx context.Context) (*agentv1.Child, error) { return f.ask(ctx, l.object, uid) })
	}
	switch {
	case err != nil:
		return result{reason: reasonOf(err), message: errcode.Message(err)}
	case why != "":
		return result{reason: reasonWaiting, message: why}
	}
	return result{reason: reasonConnected, message: "an agent in the cluster is registered at a hub", id: plain.Line(state.clusterID, maxUID)}
}

// maxUID bounds an id that a cluster says of itself, in bytes.
const maxUID = 100

func reasonOf(err error) string {
	switch errcode.Of(err) {
	case errcode.Conflict:
		return reasonConflict
	case errcode.Forbidden:
		return reasonRefused
	case errcode.Invalid, errcode.Unprocessable:
		return reasonInvalid
	}
	return reasonError
}

// refuses is what is wrong with an object, before anything is read for it. since is when the
// policy began to be enforced, unless unenforced says why it is not.
func (f *Finder) refuses(o v1alpha1.PluralCAPICluster, since time.Time, unenforced error) *result {
	switch idle := notActing(o.Spec); {
	case len(idle) > 0:
		return &result{reason: reasonUnsupported, message: strings.Join(idle, ", ") + ": has no effect here, so nothing is connected until it is left out: the hub sends the agent's objects, and metadata and bindings of a cluster are set at the hub"}
	case o.Spec.CAPIClusterRef.Namespace != "" && o.Spec.CAPIClusterRef.Namespace != o.Namespace:
		return &result{reason: reasonRefused, message: "spec.capiClusterRef.namespace: an object names Clusters of its own namespace only"}
	case unenforced != nil:
		return &result{reason: reasonUndecided, message: errcode.Message(unenforced)}
	case !o.CreationTimestamp.After(since):
		return &result{reason: reasonUndecided, message: "it was written before the API server decided who may connect clusters, at " + since.UTC().Format(time.RFC3339) + "; delete it, and create it again"}
	case f.clusters.Maker(o.Namespace) != "":
		return &result{reason: reasonRefused, message: "spec.capiClusterRef: this namespace has a cluster that the hub makes from a template, which connects by itself"}
	}
	return nil
}

// connected reports whether an object says of its present spec that the cluster is connected.
func connected(o v1alpha1.PluralCAPICluster) bool {
	ready := meta.FindStatusCondition(o.Status.Conditions, "Ready")
	return ready != nil && ready.Reason == reasonConnected && ready.ObservedGeneration == o.Generation
}

// notActing names the fields that are set and have no effect.
func notActing(spec v1alpha1.PluralCAPIClusterSpec) (fields []string) {
	if spec.Cluster != nil && spec.Cluster.Metadata != nil {
		fields = append(fields, "spec.cluster.metadata")
	}
	if spec.Cluster != nil && spec.Cluster.Bindings != nil {
		fields = append(fields, "spec.cluster.bindings")
	}
	if spec.Agent != nil && *spec.Agent != (v1alpha1.ChartConfiguration{}) {
		fields = append(fields, "spec.agent")
	}
	return fields
}

// cluster returns the uid of a Cluster object, or what it waits for.
func (f *Finder) cluster(ctx context.Context, at place) (uid types.UID, why string, err error) {
	var o *unstructured.Unstructured
	for _, version := range []string{clusters.Version, "v1beta1"} { // the newest that it serves
		resource := clusters
		resource.Version = version
		if o, err = f.kube.Dynamic.Resource(resource).Namespace(at.namespace).Get(ctx, at.name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			break
		}
	}
	switch {
	case apierrors.IsNotFound(err):
		return "", "Cluster API has no Cluster " + at.namespace + "/" + at.name, nil
	case err != nil:
		return "", "", errcode.New(errcode.Unavailable, "read Cluster %s/%s: %w", at.namespace, at.name, err)
	case o.GetDeletionTimestamp() != nil:
		return "", "Cluster " + at.namespace + "/" + at.name + " is being deleted", nil
	}
	return o.GetUID(), "", nil
}

// ask asks the hub for what connects the cluster, with the token that the object names.
func (f *Finder) ask(ctx context.Context, o v1alpha1.PluralCAPICluster, uid types.UID) (*agentv1.Child, error) {
	ref := o.Spec.ConsoleTokenSecretRef
	secret, err := f.clusters.config.Client.CoreV1().Secrets(o.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, errcode.New(errcode.Invalid, "spec.consoleTokenSecretRef: Secret %s does not exist", ref.Name)
	}
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "spec.consoleTokenSecretRef: read Secret %s: %w", ref.Name, err)
	}
	token := strings.TrimSpace(string(secret.Data[ref.Key]))
	if !strings.HasPrefix(token, bearertoken.Prefix) { // nothing else leaves the cluster
		return nil, errcode.New(errcode.Invalid, "spec.consoleTokenSecretRef: key %q of Secret %s holds no bootstrap token of a hub, which begins with %s", ref.Key, ref.Name, bearertoken.Prefix)
	}
	found := &agentv1.FoundCluster{BootstrapToken: token, Uid: string(uid), Name: o.Name}
	if c := o.Spec.Cluster; c != nil {
		if found.Tags = c.Tags; c.Handle != nil {
			found.Handle = *c.Handle
		}
	}
	return f.clusters.config.Hub.EnrollChild(ctx, &agentv1.EnrollChildRequest{BootId: f.clusters.config.BootID, Found: found})
}

// say writes the conditions of an object if they changed.
func (f *Finder) say(ctx context.Context, o v1alpha1.PluralCAPICluster, r result) {
	if ctx.Err() != nil {
		return
	}
	conditions := slices.Clone(o.Status.Conditions)
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: r.reason, Message: plain.Line(r.message, maxMessage), ObservedGeneration: o.Generation}
	if r.reason == reasonConnected {
		ready.Status = metav1.ConditionTrue
	}
	supported := metav1.Condition{Type: "Supported", Status: metav1.ConditionTrue, Reason: "AllFields", ObservedGeneration: o.Generation}
	idle := notActing(o.Spec)
	if len(idle) > 0 {
		supported.Status, supported.Reason, supported.Message = metav1.ConditionFalse, "NotImplemented", "without effect: "+strings.Join(idle, ", ")
	}
	changed := meta.SetStatusCondition(&conditions, ready)
	changed = meta.SetStatusCondition(&conditions, supported) || changed
	if id := o.Status.ID; !changed && (id != nil && *id == r.id || id == nil && r.id == "") {
		return
	}
	status := map[string]any{"conditions": conditions, "observedGeneration": o.Generation, "notActing": idle}
	if r.id != "" {
		status["id"] = r.id
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err == nil {
		_, err = f.kube.Dynamic.Resource(objects).Namespace(o.Namespace).Patch(ctx, o.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: agentName}, "status")
	}
	if err != nil && !apierrors.IsNotFound(err) {
		f.kube.Log.Warn("cannot write the status of a PluralCAPICluster", logkey.Object, o.Namespace+"/"+o.Name, logkey.Error, err)
		return
	}
	f.kube.Log.Info("a cluster that was found", logkey.Object, o.Namespace+"/"+o.Name, logkey.Reason, r.reason+": "+ready.Message)
}
