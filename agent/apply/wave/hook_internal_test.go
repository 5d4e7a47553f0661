package wave

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/kubeobj"
)

func TestMomentsOfHooks(t *testing.T) {
	for name, test := range map[string]struct {
		annotations      string
		install, upgrade Moment
		ordinary         bool
	}{
		"none":                   {"", momentSync, momentSync, true},
		"ours":                   {`axle-cd.github.io/hook: PreSync`, momentBefore, momentBefore, false},
		"argo":                   {`argocd.argoproj.io/hook: PostSync`, momentAfter, momentAfter, false},
		"argo sync":              {`argocd.argoproj.io/hook: Sync`, momentSync, momentSync, false},
		"argo fail":              {`argocd.argoproj.io/hook: SyncFail`, MomentFail, MomentFail, false},
		"argo skip":              {`argocd.argoproj.io/hook: Skip`, MomentNever, MomentNever, false},
		"argo two":               {`argocd.argoproj.io/hook: "PostSync, PreSync"`, momentBefore, momentBefore, false},
		"argo delete":            {`argocd.argoproj.io/hook: PreDelete`, MomentLeaving, MomentLeaving, false},
		"ours wins":              {`axle-cd.github.io/hook: PostSync, helm.sh/hook: pre-install`, momentAfter, momentAfter, false},
		"plural":                 {`deployment.plural.sh/sync-hook: pre-sync`, momentBefore, momentBefore, false},
		"plural sync":            {`deployment.plural.sh/sync-hook: sync`, momentSync, momentSync, false},
		"helm install only":      {`helm.sh/hook: pre-install`, momentBefore, momentBefore, false},
		"helm upgrade only":      {`helm.sh/hook: post-upgrade`, momentAfter, momentAfter, false},
		"helm both before":       {`helm.sh/hook: "pre-install,pre-upgrade"`, momentBefore, momentBefore, false},
		"helm after, then first": {`helm.sh/hook: "post-install,pre-upgrade"`, momentAfter, momentBefore, false},
		"helm crd":               {`helm.sh/hook: crd-install`, momentSync, momentSync, true},
		"helm test":              {`helm.sh/hook: test`, MomentNever, MomentNever, false},
		"helm roll back":         {`helm.sh/hook: pre-rollback`, MomentNever, MomentNever, false},
		"helm delete":            {`helm.sh/hook: post-delete`, MomentLeft, MomentLeft, false},
		"helm install and test":  {`helm.sh/hook: "test,post-install"`, momentAfter, momentAfter, false},
	} {
		t.Run(name, func(t *testing.T) {
			object := jobOf(t, "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, annotations: {"+test.annotations+"}}")
			kind := kubeobj.Kind{Group: "batch", Version: "v1", Kind: "Job"}
			install, upgrade := ReadHook(object, kind, false), ReadHook(object, kind, true)
			if install.Moment != test.install || upgrade.Moment != test.upgrade {
				t.Errorf("on install %s, on upgrade %s", MomentNames[install.Moment], MomentNames[upgrade.Moment])
			}
			if want := !test.ordinary && test.install != MomentNever; install.Runs != want {
				t.Errorf("runs %v", install.Runs)
			}
		})
	}
}

func TestPoliciesAndLimitsOfHooks(t *testing.T) {
	for name, test := range map[string]struct {
		doc    string
		policy HookPolicy
		limit  time.Duration
	}{
		"nothing said": {"metadata: {name: j}", DeleteBefore, 10 * time.Minute},
		"argo":         {`metadata: {name: j, annotations: {argocd.argoproj.io/hook-delete-policy: "HookSucceeded,BeforeHookCreation"}}`, DeleteSucceeded | DeleteBefore, 10 * time.Minute},
		"helm":         {`metadata: {name: j, annotations: {helm.sh/hook-delete-policy: "hook-succeeded, hook-failed"}}`, DeleteSucceeded | DeleteFailed, 10 * time.Minute},
		"plural":       {`metadata: {name: j, annotations: {deployment.plural.sh/sync-hook-delete-policy: hook-failed}}`, DeleteFailed, 10 * time.Minute},
		"ours wins":    {`metadata: {name: j, annotations: {axle-cd.github.io/hook-delete-policy: HookFailed, helm.sh/hook-delete-policy: hook-succeeded}}`, DeleteFailed, 10 * time.Minute},
		"its own time": {"metadata: {name: j}\nspec: {activeDeadlineSeconds: 60}", DeleteBefore, 90 * time.Second},
		"nonsense":     {"metadata: {name: j}\nspec: {activeDeadlineSeconds: -5}", DeleteBefore, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			object := jobOf(t, "apiVersion: batch/v1\nkind: Job\n"+test.doc)
			object.SetAnnotations(with2(object.GetAnnotations(), "helm.sh/hook", "pre-install"))
			h := ReadHook(object, kubeobj.Kind{Group: "batch", Kind: "Job"}, false)
			if h.Policy != test.policy || h.Limit != test.limit {
				t.Errorf("%+v", h)
			}
		})
	}
}

func with2(in map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	for k, v := range in {
		out[k] = v
	}
	return out
}

func jobOf(t *testing.T, doc string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}
