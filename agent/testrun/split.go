package testrun

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Annotations of tests. Without ours, Helm's hook annotation is used.
const (
	// HookAnnotation marks a test: its value is then Test.
	HookAnnotation = "axle-cd.github.io/hook"
	// RetriesAnnotation is how often a failed test runs again, 0 to 10.
	RetriesAnnotation = "axle-cd.github.io/test-retries"
	// OptionalAnnotation "true" lets dependents continue although the test failed.
	OptionalAnnotation = "axle-cd.github.io/test-optional"
	// WeightAnnotation orders tests, lowest first.
	WeightAnnotation = "axle-cd.github.io/hook-weight"

	// runAnnotation names the attempt of an object in the cluster.
	runAnnotation = "axle-cd.github.io/test-run"
	// serviceLabel is on every object of a test. It is not the label that selects the
	// watches of synced objects.
	serviceLabel = "axle-cd.github.io/test-of"
)

const (
	maxRetries = 10
	// defaultLimit is how long a test without its own limit may take. limitGrace is
	// added for a test with its own limit, so that the Job reports its failure first.
	defaultLimit = 10 * time.Minute
	limitGrace   = 30 * time.Second
	maxLimit     = 24 * time.Hour
)

// IsTest reports whether an object is a test, or is needed only by tests.
func IsTest(object *unstructured.Unstructured) bool {
	annotations := object.GetAnnotations()
	if value, ok := annotations[HookAnnotation]; ok {
		return names(value, "test")
	}
	return names(annotations["helm.sh/hook"], "test", "test-success")
}

func names(list string, words ...string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if slices.Contains(words, strings.ToLower(strings.TrimSpace(one))) {
			return true
		}
	}
	return false
}

// Key names files and settings: tests of one key run once. A sync request is a
// setting, and so runs them again.
func Key(tarball, parts, settings string) string {
	sum := sha256.Sum256([]byte(tarball + "\n" + parts + "\n" + settings))
	return hex.EncodeToString(sum[:8])
}

// Split separates the tests from the other rendered objects.
func Split(objects []*unstructured.Unstructured) (tests, rest []*unstructured.Unstructured) {
	for _, o := range objects {
		if IsTest(o) {
			tests = append(tests, o)
		} else {
			rest = append(rest, o)
		}
	}
	return tests, rest
}

// test is an object with its parsed annotations.
type test struct {
	object    *unstructured.Unstructured
	namespace string
	name      string
	kind      string
	weight    int
	attempts  int
	optional  bool
	limit     time.Duration
	// deletePassed and deleteFailed say whether the object is deleted afterwards.
	deletePassed, deleteFailed bool
}

// runs reports whether an object does something by itself. The others serve those
// that do.
func runs(object *unstructured.Unstructured) bool {
	gvk := object.GroupVersionKind()
	return gvk.Group == "batch" && gvk.Kind == "Job" || gvk.Group == "" && gvk.Kind == "Pod"
}

func readTest(object *unstructured.Unstructured, namespace string) test {
	annotations := object.GetAnnotations()
	t := test{
		object: object, namespace: cmp.Or(object.GetNamespace(), namespace), name: object.GetName(), kind: object.GetKind(),
		weight: number(cmp.Or(annotations[WeightAnnotation], annotations["helm.sh/hook-weight"]), 0),
		limit:  limitOf(object), optional: annotations[OptionalAnnotation] == "true",
	}
	t.attempts = 1 + min(max(0, number(annotations[RetriesAnnotation], 0)), maxRetries)
	policy := cmp.Or(annotations["axle-cd.github.io/hook-delete-policy"], annotations["helm.sh/hook-delete-policy"])
	t.deletePassed = names(policy, "hook-succeeded", "hooksucceeded", "succeeded")
	t.deleteFailed = names(policy, "hook-failed", "hookfailed", "failed")
	return t
}

func number(text string, otherwise int) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return otherwise
	}
	return n
}

func limitOf(object *unstructured.Unstructured) time.Duration {
	value, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "activeDeadlineSeconds")
	var seconds int64
	switch v := value.(type) {
	case int64:
		seconds = v
	case float64:
		seconds = int64(v)
	}
	if seconds <= 0 {
		return defaultLimit
	}
	return min(time.Duration(seconds)*time.Second, maxLimit) + limitGrace
}

// groups orders tests by weight; those of the same weight run together.
func groups(tests []test) [][]int {
	order := make([]int, len(tests))
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(tests[a].weight, tests[b].weight), cmp.Compare(tests[a].namespace, tests[b].namespace), cmp.Compare(tests[a].name, tests[b].name))
	})
	var all [][]int
	for i, n := range order {
		if i == 0 || tests[order[i-1]].weight != tests[n].weight {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], n)
	}
	return all
}
