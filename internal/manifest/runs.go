package manifest

import "strings"

// runAnnotations mark objects that do their work once per revision, or when a service
// is tested: ours, Argo CD's, Helm's and Plural's.
var runAnnotations = []string{"axle-cd.github.io/hook", "argocd.argoproj.io/hook", "helm.sh/hook", "deployment.plural.sh/sync-hook"}

// Hook reports whether an object is a hook or a test.
func (o *Object) Hook() bool {
	for _, name := range runAnnotations {
		// Plural's annotation orders any object by phase; it makes only those that
		// end run once.
		if value, ok := o.LookupAnnotation(name); ok && strings.TrimSpace(value) != "" && (name != "deployment.plural.sh/sync-hook" || o.ends()) {
			return true
		}
	}
	return false
}

// Runs reports whether an object does its work once and ends: a hook, a test, a Job,
// a Pod that is not restarted. It may be a different object each time.
func (o *Object) Runs() bool { return o.Hook() || o.ends() }

func (o *Object) ends() bool {
	switch key := o.Key(""); {
	case key.Group == "batch" && key.Kind == "Job":
		return true
	case key.Group == "" && key.Kind == "Pod":
		spec, _ := o.Data["spec"].(map[string]any)
		return spec["restartPolicy"] == "Never" || spec["restartPolicy"] == "OnFailure"
	}
	return false
}
