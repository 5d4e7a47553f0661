package up

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"connectrpc.com/connect"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/internal/kubehealth"
	"github.com/axle-cd/axle/internal/repourl"
	"github.com/axle-cd/axle/sdk"
)

// rootName is the service that applies the repository, agentName that of the agent.
const (
	rootName  = "root"
	agentName = "axle-agent"
	// ofHub is the parent of services that the hub makes by itself.
	ofHub = "hub"
)

// hub is the client of the hub that goes, and of no other.
func (r *remover) hub() (*sdk.Client, error) {
	target, err := r.app.Target()
	if err != nil || strings.TrimSuffix(target.URL, "/") != r.release.URL {
		return nil, errcode.New(errcode.Conflict, "the hub at %[1]s cannot be asked what it has, because you are not logged in to it: axle login %[1]s, and run the same command again; if it is gone for good, axle uninstall --force removes the rest", r.release.URL)
	}
	return r.app.Client()
}

// clusters names what is connected beside the management cluster, with the command for each.
func (r *remover) clusters(ctx context.Context, client *sdk.Client) (first []string, err error) {
	files, err := r.declaredIn()
	if err != nil {
		return nil, err
	}
	all, err := client.AllClusters(ctx, &hubv1.ListClustersRequest{})
	for _, c := range all {
		_, resource, _ := strings.Cut(c.GetManagedBy().GetId(), "/")
		switch name, origin := c.GetName(), c.GetOrigin(); {
		case name == cluster:
		case origin.GetDestroying():
			first = append(first, fmt.Sprintf("cluster %[1]s is being destroyed: axle clusters get %[1]s shows the progress", name))
		case origin != nil && files[resource] != "":
			first = append(first, fmt.Sprintf("cluster %[1]s, made from the template %[2]s; this command destroys no machines: delete %[3]s, commit and push that, and then axle clusters destroy %[1]s --take-over", name, origin.GetTemplate(), files[resource]))
		case origin != nil:
			first = append(first, fmt.Sprintf("cluster %[1]s, made from the template %[2]s; this command destroys no machines: axle clusters destroy %[1]s --take-over", name, origin.GetTemplate()))
		default:
			first = append(first, fmt.Sprintf("cluster %[1]s: axle clusters delete %[1]s --detach leaves what it runs; or delete its services before", name))
		}
	}
	return first, err
}

// protectedServices names the services of the management cluster that are protected, with
// what to do for each, and notes those that nothing here declares.
func (r *remover) protectedServices(ctx context.Context, client *sdk.Client) (first []string, err error) {
	files, err := r.declaredIn()
	if err != nil {
		return nil, err
	}
	for _, object := range r.services {
		if on, _, _ := unstructured.NestedBool(object.Object, "spec", "template", "protect"); on {
			first = append(first, unprotect(kubeapply.Name(object), fmt.Sprintf("%s.%s/%s/%s", object.GetKind(), object.GroupVersionKind().Group, object.GetNamespace(), object.GetName()), files))
		}
	}
	all, err := command.ListServices(ctx, client, &hubv1.ListServicesRequest{Cluster: cluster})
	if errcode.Is(err, errcode.NotFound) {
		err = nil // an interrupted run has disconnected it
	}
	for _, s := range all {
		by := s.GetManagedBy()
		switch name := s.GetName(); {
		case name == agentName || s.GetParentId() == ofHub: // goes with what the hub made it for
		case s.GetSpec().GetProtect() && by.GetTool() == "operator":
			_, resource, _ := strings.Cut(by.GetId(), "/")
			first = append(first, unprotect("service "+cluster+"/"+name, resource, files))
		case s.GetSpec().GetProtect():
			first = append(first, fmt.Sprintf("service %[1]s/%[2]s is protected: axle services update %[1]s/%[2]s --protect=false", cluster, name))
		case by.GetTool() != "operator" && by.GetTool() != "hub" && name != rootName:
			r.kept = append(r.kept, cluster+"/"+name)
		}
	}
	if err != nil {
		return nil, err
	}
	globals, err := command.ListGlobals(ctx, client)
	for _, g := range globals {
		if by := g.GetManagedBy(); by.GetTool() != "operator" {
			first = append(first, fmt.Sprintf("global service %[1]s, which this repository does not declare: axle globalservices delete %[1]s", g.GetName()))
		}
	}
	return first, err
}

// unprotect says where protect is set: in a file of the repository, or in an object.
func unprotect(what, resource string, files map[string]string) string {
	where := files[resource]
	if where == "" {
		where = resource
	}
	return fmt.Sprintf("%s is protected: remove protect in %s, commit and push it, and wait until it is applied", what, where)
}

// orphans refuses where custom resources wait for an operator that is gone.
func (r *remover) orphans() error {
	var commands []string
	for _, object := range slices.Concat(r.services, r.rest) {
		if len(object.GetFinalizers()) > 0 {
			commands = append(commands, fmt.Sprintf(`%s -n %s patch %s.%s %s --type merge -p '{"metadata":{"finalizers":null}}'`, r.kubectl(), namespace, strings.ToLower(object.GetKind()), object.GroupVersionKind().Group, object.GetName()))
		}
	}
	if len(commands) == 0 {
		return nil
	}
	return errcode.New(errcode.Conflict, "the control plane is gone, and %d custom resources wait for its operator. Either axle up local installs it again, and axle down then removes everything; or let go of each, and run this again:\n  %s", len(commands), strings.Join(commands, "\n  "))
}

// existing leaves what the cluster has of the custom resources, as it has them.
func (r *remover) existing(ctx context.Context) error {
	for _, list := range []*[]*unstructured.Unstructured{&r.services, &r.rest} {
		var there []*unstructured.Unstructured
		for _, object := range *list {
			have, err := r.live(ctx, object)
			if err != nil {
				return err
			}
			if have != nil {
				there = append(there, have)
			}
		}
		*list = there
	}
	return nil
}

// live is an object as the cluster has it, nil if it does not.
func (b *builder) live(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if known, err := b.kube.Knows(object); err != nil || !known {
		return nil, err
	}
	resource, err := b.kube.Resource(object)
	if err != nil {
		return nil, err
	}
	have, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "read %s: %w", kubeapply.Name(object), err)
	}
	return have, nil
}

// remove deletes objects and waits until they are gone. One that was made again
// meanwhile is another one, and stays.
func (r *remover) remove(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		resource, err := r.kube.Resource(object)
		if err != nil {
			return err
		}
		options := metav1.DeleteOptions{}
		if uid := object.GetUID(); uid != "" {
			options.Preconditions = &metav1.Preconditions{UID: &uid}
		}
		if err := resource.Delete(ctx, object.GetName(), options); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return errcode.New(errcode.Unavailable, "delete %s: %w", kubeapply.Name(object), err)
		}
	}
	progress := r.app.Begin("waiting until they are gone")
	defer progress.End()
	left, why := objects, ""
	done, err := r.app.PollUntil(ctx, r.wait, func(ctx context.Context) (bool, error) {
		for len(left) > 0 {
			have, err := r.live(ctx, left[0])
			if err != nil {
				why = err.Error()
				return false, nil // an API server may be away for a moment
			}
			if have != nil && (left[0].GetUID() == "" || have.GetUID() == left[0].GetUID()) {
				_, _, why = kubehealth.Condition(have, "Ready")
				progress.Say("%d left, first %s: %s", len(left), kubeapply.Name(have), why)
				return false, nil
			}
			left = left[1:]
		}
		return true, nil
	})
	if err != nil || done {
		return err
	}
	return errcode.New(errcode.Unavailable, "%s is not gone within %s (%s): %s describe shows more; run the same command again to go on", kubeapply.Name(left[0]), r.wait, why, r.kubectl())
}

// stop ends the root service, and leaves what it applied, which the operator must let go
// of in order. Services that nothing here declares end in the same way: what they use
// could not be deleted before.
func (r *remover) stop(ctx context.Context) error {
	if !r.asks() {
		return nil
	}
	client, err := r.hub()
	if err != nil {
		return err
	}
	for _, name := range append(r.kept, cluster+"/"+rootName) {
		if err := r.detach(ctx, client, name); err != nil {
			return err
		}
	}
	return nil
}

func (r *remover) detach(ctx context.Context, client *sdk.Client, name string) error {
	request := &hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: cluster, Name: strings.TrimPrefix(name, cluster+"/")}}
	gone := func(ctx context.Context) (bool, error) {
		_, err := client.Services.Get(ctx, connect.NewRequest(request))
		if errcode.Is(err, errcode.NotFound) {
			return true, nil
		}
		return false, err
	}
	if done, err := gone(ctx); done || err != nil {
		return err
	}
	if err := r.run(ctx, "services", "delete", name, "--detach", "--take-over", "--yes"); err != nil {
		return err
	}
	done, err := r.app.PollUntil(ctx, r.wait, gone)
	if err != nil || done {
		return err
	}
	return errcode.New(errcode.Unavailable, "service %s is not gone within %s: axle clusters get %s shows whether its agent is there; run the same command again to go on", name, r.wait, cluster)
}

// disconnect deletes the management cluster from the hub, and then its agent, with the
// objects that the hub renders for it.
func (r *remover) disconnect(ctx context.Context) error {
	if !r.asks() {
		return nil
	}
	client, err := r.hub()
	if err != nil {
		return err
	}
	_, err = client.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: cluster}))
	if err == nil {
		err = r.run(ctx, "clusters", "delete", cluster, "--detach", "--take-over", "--yes", "--timeout", r.wait.String())
	}
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return err
	}
	manifests, err := client.Clusters.AgentManifests(ctx, connect.NewRequest(&hubv1.AgentManifestsRequest{Namespace: agents}))
	if err != nil {
		return err
	}
	objects, err := kubeapply.Documents([]byte(manifests.Msg.GetManifests()))
	if err != nil {
		return err
	}
	return r.remove(ctx, slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool {
		return object.GetNamespace() == agents // goes with the namespace
	}))
}

func (r *remover) uninstall(ctx context.Context) error {
	if r.release.URL == "" {
		return nil
	}
	return r.run(ctx, slices.Concat([]string{"uninstall", "--delete-data", "--force", "--yes", "--release", release, "--namespace", namespace}, r.inCluster())...)
}

// gitKinds are the objects of the Git server, in the order in which they are deleted. The
// volume is first: that it is being deleted is how a later run knows the decision.
var gitKinds = [][2]string{{"v1", "PersistentVolumeClaim"}, {"apps/v1", "Deployment"}, {"v1", "Service"}, {"networking.k8s.io/v1", "NetworkPolicy"}, {"v1", "Secret"}}

// unserve removes the Git server of the cluster.
func (r *remover) unserve(ctx context.Context) error {
	if r.answers.Git != inCluster {
		return nil
	}
	if err := r.pushedElsewhere(ctx); err != nil {
		return err
	}
	r.close()
	var objects []*unstructured.Unstructured
	for _, kind := range gitKinds {
		have, err := r.live(ctx, gitObject(kind[0], kind[1]))
		if err != nil {
			return err
		}
		if have != nil {
			objects = append(objects, have)
		}
	}
	return r.remove(ctx, objects)
}

// holds reports whether the cluster has a volume with the repository that nobody has
// begun to delete.
func (r *remover) holds(ctx context.Context) (bool, error) {
	if r.answers.Git != inCluster {
		return false, nil
	}
	claim, err := r.live(ctx, gitObject("v1", "PersistentVolumeClaim"))
	return claim != nil && claim.GetDeletionTimestamp() == nil, err
}

// pushedElsewhere refuses to remove the Git server of the cluster while it has commits that
// no other repository has.
func (r *remover) pushedElsewhere(ctx context.Context) error {
	if there, err := r.holds(ctx); err != nil || !there || r.discard {
		return err
	}
	r.git = git{dir: r.dir}
	refs, err := "", r.openGit(ctx)
	if err == nil {
		refs, err = r.git.run(ctx, "ls-remote", "--heads", "--tags", r.answers.Repository)
	}
	if err != nil {
		return errcode.New(errcode.Conflict, "the Git server of the cluster goes too, and whether another repository has its commits cannot be found out: %w; axle up local runs it again, and --delete-repository deletes the repository as it is", err)
	}
	var only []string
	for line := range strings.Lines(refs) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if elsewhere, err := r.elsewhere(ctx, id); err != nil {
			return err
		} else if !elsewhere {
			only = append(only, strings.TrimPrefix(name, "refs/heads/"))
		}
	}
	if len(only) == 0 {
		return nil
	}
	return errcode.New(errcode.Conflict, "the Git server of the cluster goes too, and has commits that were pushed nowhere else (%s): get them (git pull), and push them to another repository (git remote add elsewhere URL; git push elsewhere --all); or give --delete-repository, and only clones, such as %s, have what they have", strings.Join(only, ", "), r.dir)
}

// elsewhere reports whether a branch of another remote of the folder has a commit.
func (r *remover) elsewhere(ctx context.Context, id string) (bool, error) {
	if !r.git.is(ctx, "cat-file", "-e", id+"^{commit}") {
		return false, nil
	}
	remotes, err := r.git.run(ctx, "remote")
	for _, name := range strings.Fields(remotes) {
		at, err := r.git.run(ctx, "config", "--get", "remote."+name+".url")
		if err != nil || repourl.Same("git", at, r.answers.Repository) {
			continue
		}
		found, err := r.git.run(ctx, "for-each-ref", "--count=1", "--contains", id, "refs/remotes/"+name)
		if err != nil || found != "" {
			return err == nil, err
		}
	}
	return false, err
}

// mayHold are the kinds of which an object in the namespace of the control plane is
// somebody's, once the release is gone.
var mayHold = []string{"Secret", "ConfigMap", "PersistentVolumeClaim", "Pod", "Service"}

// ofNobody are in the namespace by themselves: what the cluster puts there, and the
// hub's own authority, as it publishes it.
var ofNobody = []string{"kube-root-ca.crt", authorityName}

// authorityName is the ConfigMap with that authority.
const authorityName = release + "-ca"

// tidy deletes the namespace of the control plane, unless somebody's objects are in it.
func (r *remover) tidy(ctx context.Context) error {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}}
	have, err := r.live(ctx, object)
	if err != nil || have == nil {
		return err
	}
	found, err := r.inNamespace(ctx)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		r.kept = append(r.kept, fmt.Sprintf("the namespace %[1]s with %[2]s: %[3]s delete namespace %[1]s", namespace, strings.Join(found, ", "), r.kubectl()))
		return nil
	}
	return r.remove(ctx, []*unstructured.Unstructured{have})
}

// inNamespace names what is left there.
func (r *remover) inNamespace(ctx context.Context) (found []string, err error) {
	for _, kind := range mayHold {
		list := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"namespace": namespace}}}
		resource, err := r.kube.Resource(list)
		if err != nil {
			return nil, err
		}
		have, err := resource.List(ctx, metav1.ListOptions{Limit: 500})
		if err != nil {
			return nil, errcode.New(errcode.Unavailable, "list what is in the namespace %s: %w", namespace, err)
		}
		for _, item := range have.Items {
			if !slices.Contains(ofNobody, item.GetName()) && item.GetDeletionTimestamp() == nil {
				found = append(found, kind+" "+item.GetName())
			}
		}
	}
	return found, nil
}

// stays prints what is not removed.
func (r *remover) stays(out io.Writer) {
	stays := "the repository " + repourl.Shown(r.answers.Repository) + ", and this folder"
	if r.answers.Git == inCluster {
		stays = "this folder, with the commits that it has"
	}
	fmt.Fprintf(out, "what stays:\n  %s: axle up local makes the fleet again\n  the cluster at %s\n  the custom resource definitions: %s get crds -o name lists them\n", stays, r.kube.Config.Host, r.kubectl())
	for _, name := range r.kept {
		if strings.HasPrefix(name, cluster+"/") {
			name = "the objects of service " + name + ", which this repository does not declare"
		}
		fmt.Fprintf(out, "  %s\n", name)
	}
}
