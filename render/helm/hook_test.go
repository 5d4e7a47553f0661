package helm_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/render/helm"
)

// A chart may make an account as a hook for its Jobs, and again as an object: with Helm the
// hook's policy deletes the first one.
func TestHookAndObjectOfOneName(t *testing.T) {
	const (
		account = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: setup\n"
		hook    = account + "  annotations: {helm.sh/hook: 'pre-install,pre-upgrade', helm.sh/hook-weight: '-5', helm.sh/hook-delete-policy: before-hook-creation}\n"
		object  = account + "  labels: {kept: 'true'}\n"
	)
	for name, files := range map[string]map[string]string{
		"the hook comes first":   {"templates/a.yaml": hook, "templates/b.yaml": object},
		"the object comes first": {"templates/a.yaml": object, "templates/b.yaml": hook},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := helm.Render(t.Context(), request(t, files))
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Objects) != 1 || len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], "is a hook and an object of the chart") {
				t.Fatalf("%d objects, %q", len(result.Objects), result.Warnings)
			}
			o := result.Objects[0]
			labels, _ := o.Data["metadata"].(map[string]any)["labels"].(map[string]any)
			if labels["kept"] != "true" || o.Annotation("helm.sh/hook") != "" || o.Annotation("deployment.plural.sh/sync-hook") != "pre-sync" || o.Annotation("deployment.plural.sh/sync-wave") != "-5" {
				t.Errorf("%v", o.Data)
			}
		})
	}
	// What ends by itself would run once for two.
	job := strings.NewReplacer("v1\nkind: ServiceAccount", "batch/v1\nkind: Job")
	if _, err := helm.Render(t.Context(), request(t, map[string]string{"templates/a.yaml": job.Replace(hook), "templates/b.yaml": job.Replace(object)})); err == nil || !strings.Contains(err.Error(), "is rendered twice") {
		t.Errorf("a Job: %v", err)
	}
}
