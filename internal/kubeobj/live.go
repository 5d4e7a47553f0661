package kubeobj

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Live is an object in the cluster, reduced to what decisions about it need.
type Live struct {
	UID             types.UID
	ResourceVersion string
	// Cluster is the value of the managed label, empty without one.
	Cluster string
	// Service is the id in the service annotation, empty without one.
	Service string
	// Tracked says that the tracking annotation names this same object.
	Tracked bool
	// Controlled says that another object is its controlling owner.
	Controlled bool
	// Deleting says that it is being deleted and only waits for finalizers.
	Deleting bool
	// ApplySet is another tool's inventory that the object belongs to.
	ApplySet string
	// Kept says that its labels or annotations forbid deploying tools to delete it.
	Kept bool
	// Strings says that we applied the stringData of a Secret as it was.
	Strings bool
	// CreatedFor says that it is a namespace that we created for a service.
	CreatedFor bool
	Print      Fingerprint
	// Health and Message are set if the kind has a health rule and a watch reads its
	// whole objects; otherwise they are empty.
	Health  string
	Message string
	// Generation counts the specifications; Deadline is how long one may be
	// Progressing, zero means no limit.
	Generation int64
	Deadline   time.Duration
}

// Owned reports whether the annotations say that the object belongs to the service.
func (l Live) Owned(service string) bool { return l.Tracked && l.Service == service && service != "" }

// Fingerprint summarises managedFields: who owns which fields. It covers only sets of
// fields, not values: a value written by another manager moves its field out of our
// set.
type Fingerprint struct {
	// Own is the hash of the fields that we applied; zero if there are none.
	Own uint64
	// Unscaled is Own without spec.replicas.
	Unscaled uint64
	// Foreign is the hash of the fields that people's tools wrote, without status and
	// times; zero if there are none.
	Foreign uint64
	// Scaled says that spec.replicas was last written through the scale subresource,
	// by an autoscaler or a person.
	Scaled bool
	// Human names the last of people's tools, Other the last manager of any kind
	// besides us.
	Human, Other string
}

// OwnIntact reports whether the fields that were ours when want was taken are still
// ours. spec.replicas may have moved to the scale subresource.
func (f Fingerprint) OwnIntact(want Fingerprint) bool {
	if f.Own == 0 {
		return false
	}
	return f.Own == want.Own || f.Scaled && f.Unscaled == want.Unscaled
}

// Reduce reads an object's metadata. ref is the name under which the object was
// found.
func Reduce(ref Ref, object metav1.Object) Live {
	annotations := object.GetAnnotations()
	return Live{
		UID:             object.GetUID(),
		ResourceVersion: object.GetResourceVersion(),
		Cluster:         object.GetLabels()[ManagedLabel],
		Service:         strings.Clone(annotations[ServiceAnnotation]),
		Tracked:         annotations[TrackingAnnotation] == ref.Tracking(),
		Controlled:      metav1.GetControllerOfNoCopy(object) != nil,
		Deleting:        object.GetDeletionTimestamp() != nil,
		ApplySet:        object.GetLabels()[ApplySetLabel],
		Kept:            Kept(object.GetLabels(), annotations),
		CreatedFor:      annotations[CreatedForAnnotation] != "",
		Strings:         OwnsStrings(ref, object.GetManagedFields()),
		Print:           Print(object.GetManagedFields()),
		Generation:      object.GetGeneration(),
		Deadline:        deadline(annotations[DeadlineAnnotation]),
	}
}

// deadline parses the annotation; anything but a positive duration sets none.
func deadline(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return max(d, 0)
}

// Print computes the fingerprint of an object's managedFields.
func Print(entries []metav1.ManagedFieldsEntry) Fingerprint {
	var f Fingerprint
	var foreign []uint64
	var last, lastOther metav1.Time
	for _, e := range entries {
		if e.Subresource == "scale" && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), replicas) {
			f.Scaled = true
		}
	}
	for _, e := range entries {
		if e.Manager != FieldManager && e.Subresource == "" && (f.Other == "" || e.Time != nil && lastOther.Before(e.Time)) {
			f.Other = e.Manager
			if e.Time != nil {
				lastOther = *e.Time
			}
		}
		switch {
		case e.FieldsV1 == nil:
		case Ours(e):
			f.Own = hash(e.APIVersion, e.FieldsV1.GetRawBytes())
			f.Unscaled = f.Own
			if f.Scaled || bytes.Contains(e.FieldsV1.GetRawBytes(), replicas) {
				f.Unscaled = hash(e.APIVersion, withoutReplicas(e.FieldsV1.GetRawBytes()))
			}
		case e.Subresource == "" && Human(e.Manager):
			foreign = append(foreign, hash(e.Manager+" "+string(e.Operation)+" "+e.APIVersion, e.FieldsV1.GetRawBytes()))
			if f.Human == "" || e.Time != nil && last.Before(e.Time) {
				f.Human = e.Manager
			}
			if e.Time != nil {
				last = *e.Time
			}
		}
	}
	slices.Sort(foreign)
	for _, h := range foreign {
		f.Foreign = f.Foreign*1099511628211 ^ h
	}
	return f
}

// OwnsStrings reports whether we applied the stringData of a Secret as it was.
func OwnsStrings(ref Ref, entries []metav1.ManagedFieldsEntry) bool {
	return ref.IsSecret() && slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return Ours(e) && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(`"f:stringData"`))
	})
}

// Ours reports whether an entry is one of our applies.
func Ours(e metav1.ManagedFieldsEntry) bool {
	return e.Manager == FieldManager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
}

// humanTools are prefixes of the managers of people's tools. Fields of controllers,
// admission and autoscalers are legitimate and not drift.
var humanTools = []string{"kubectl", "k9s", "Mozilla", "dashboard", "kubernetes-dashboard", "lens", "Lens",
	"OpenLens", "node-fetch", "headlamp", "rancher", "oc", "kubecolor", "freelens"}

// Human reports whether a field manager is a person's tool.
func Human(manager string) bool {
	return slices.ContainsFunc(humanTools, func(tool string) bool {
		rest, ok := strings.CutPrefix(manager, tool)
		return ok && (rest == "" || !isLetter(rest[0]))
	})
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

var replicas = []byte(`"f:replicas"`)

// withoutReplicas removes f:spec.f:replicas from a set of fields. The result is
// canonical; compare it only with other results of this function.
func withoutReplicas(raw []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return raw
	}
	var spec map[string]json.RawMessage
	if rest, ok := fields["f:spec"]; ok && json.Unmarshal(rest, &spec) != nil {
		return raw
	}
	delete(spec, "f:replicas")
	delete(fields, "f:spec")
	if len(spec) > 0 {
		fields["f:spec"], _ = json.Marshal(spec)
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return raw
	}
	return out
}

// plain reverts the escapes that JSON encoders add for HTML: the same fields arrive
// escaped or not, depending on how they were read.
func plain(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`\u00`)) {
		return raw
	}
	for escaped, char := range map[string]string{`\u003c`: "<", `\u003e`: ">", `\u0026`: "&"} {
		raw = bytes.ReplaceAll(raw, []byte(escaped), []byte(char))
	}
	return raw
}

// hash never returns zero, which means "no such entry".
func hash(head string, body []byte) uint64 {
	h := fnv.New64a()
	h.Write([]byte(head))
	h.Write([]byte{0})
	h.Write(plain(body))
	if sum := h.Sum64(); sum != 0 {
		return sum
	}
	return 1
}
