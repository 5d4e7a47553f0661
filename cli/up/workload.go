package up

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/deploy"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/internal/kubehealth"
)

// workload is which clusters are made beside the management cluster: those of a template,
// or none.
type workload struct {
	name string
	// folder is that of the template in deploy.Clusters, empty for none.
	folder string
	// needs is how Cluster API and the provider come to the management cluster.
	needs string
}

// workloadAnswers are the answers to --workload.
var workloadAnswers = []workload{
	{name: "none"},
	{name: "docker", folder: "clusters/docker", needs: "install cert-manager, Cluster API and the Docker provider: where the cluster is one of a hub already, by axle clusters api install --provider docker; else by clusterctl init --infrastructure docker with CLUSTER_TOPOLOGY=true"},
	{name: "bed", folder: "bed", needs: "make demo ARGS=--clusters in a checkout of Axle starts a cluster that has Cluster API with the provider of the test bed"},
}

// workloadNames are the answers, as people write them.
func workloadNames() (all []string) {
	for _, w := range workloadAnswers {
		all = append(all, w.name)
	}
	return all
}

// workload is that of the answers; ok is false for a name that this version does not have.
func (a *answers) workload() (w workload, ok bool) {
	at := slices.IndexFunc(workloadAnswers, func(w workload) bool { return w.name == a.Workload })
	if at < 0 {
		return workload{}, false
	}
	return workloadAnswers[at], true
}

// Made reports whether clusters are made; skeletons ask.
func (a *answers) Made() bool {
	w, _ := a.workload()
	return w.folder != ""
}

// Kinds are those that may come out of the template of clusters.
func (a *answers) Kinds() ([]string, error) {
	files, err := a.clusterTemplate()
	if err != nil {
		return nil, err
	}
	var about struct {
		Kinds []string `json:"kinds"`
	}
	err = yaml.Unmarshal(files["template.yaml"], &about)
	return about.Kinds, err
}

// source is where the files are that a template's README names by paths of its own
// repository.
const source = "https://github.com/axle-cd/axle/blob/main/"

// outward is the beginning of a link out of the folder of a template, up to a fragment.
var outward = regexp.MustCompile(`\]\(\.\./[^)#]*`)

// clusterTemplate are the files of the template of clusters, by their names; none for none.
func (a *answers) clusterTemplate() (map[string][]byte, error) {
	w, _ := a.workload()
	if w.folder == "" {
		return nil, nil
	}
	files := map[string][]byte{}
	err := fs.WalkDir(deploy.Clusters, w.folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := deploy.Clusters.ReadFile(name)
		if path.Ext(name) == ".md" {
			text = outward.ReplaceAllFunc(text, func(link []byte) []byte {
				return []byte("](" + source + path.Join("deploy", path.Dir(name), string(link[len("]("):])))
			})
		}
		files[strings.TrimPrefix(name, w.folder+"/")] = text
		return err
	})
	return files, err
}

// lookClusterAPI wants everything on the management cluster that the template's objects are
// read by: a missing provider would only show after everything was installed.
func (b *builder) lookClusterAPI() error {
	w, _ := b.answers.workload()
	files, err := b.answers.clusterTemplate()
	if err != nil || w.folder == "" {
		return err
	}
	wanted := []*unstructured.Unstructured{{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster"}}}
	for name, text := range files {
		if !strings.HasPrefix(name, "class/") {
			continue
		}
		objects, err := kubeapply.Documents(text)
		if err != nil {
			return err
		}
		wanted = append(wanted, objects...)
	}
	var missing []string
	for _, object := range wanted {
		there, err := b.kube.Knows(object)
		if err != nil {
			return err
		}
		if kind := object.GetKind() + " of " + object.GetAPIVersion(); !there && !slices.Contains(missing, kind) {
			missing = append(missing, kind)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return errcode.New(errcode.NotFound, "--workload %s makes clusters with Cluster API, and the cluster at %s does not have the kinds %s: %s; or begin in another folder with --workload none", w.name, b.kube.Config.Host, strings.Join(missing, ", "), w.needs)
}

// connected judges a cluster that is declared: one that is made connects by itself.
func connected(have *unstructured.Unstructured) (health kubehealth.Status, message string) {
	if made, _, _ := unstructured.NestedString(have.Object, "spec", "templateRef", "name"); made == "" {
		return kubehealth.Healthy, ""
	}
	if registered, _, _ := unstructured.NestedBool(have.Object, "status", "registered"); registered {
		return kubehealth.Healthy, ""
	}
	phase, _, _ := unstructured.NestedString(have.Object, "status", "clusterAPI", "phase")
	waits, _, _ := unstructured.NestedString(have.Object, "status", "clusterAPI", "message")
	return kubehealth.Progressing, strings.TrimSuffix(fmt.Sprintf("it is %s and not connected yet: %s", strings.ToLower(phase), waits), ": ")
}
