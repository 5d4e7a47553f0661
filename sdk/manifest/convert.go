package manifest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
)

func itoa(n int) string { return strconv.Itoa(n) }

// value returns what a pointer points to, or the zero value for nil.
func value[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// set returns the names of the fields that are set, sorted.
func set(fields map[string]bool) []string {
	maps.DeleteFunc(fields, func(_ string, isSet bool) bool { return !isSet })
	return slices.Sorted(maps.Keys(fields))
}

func (d document) project() (*Item, error) {
	var object v1alpha1.Project
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	if object.Spec.Name == "" {
		return nil, errcode.New(errcode.Invalid, "%s: Project %q has no spec.name", d.where, object.Name)
	}
	request := &hubv1.CreateProjectRequest{Name: object.Spec.Name, Description: value(object.Spec.Description)}
	access, byID, err := d.bindings(object.Spec.Bindings, "project/"+request.GetName(), &hubv1.Place{Project: request.GetName()})
	return &Item{Kind: d.meta.Kind, Name: request.GetName(), Where: d.where, Request: request, Access: access, NotActing: append(byID, set(map[string]bool{
		"spec.reconciliation": object.Spec.Reconciliation != nil,
	})...)}, err
}

func (d document) repository(values Values) (*Item, error) {
	var object v1alpha1.GitRepository
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	if object.Spec.URL == "" {
		return nil, errcode.New(errcode.Invalid, "%s: GitRepository %q has no spec.url", d.where, object.Name)
	}
	request := &hubv1.CreateRepositoryRequest{Name: object.Name, Type: "git", Url: strings.TrimSpace(object.Spec.URL)}
	if ref := object.Spec.CredentialsRef; ref != nil {
		held, err := d.secret(values, ref, object.Namespace)
		if err != nil {
			return nil, err
		}
		request.Credentials = &hubv1.RepositoryCredentials{
			Username: held["username"], Password: held["password"],
			PrivateKey: held["privateKey"], Passphrase: held["passphrase"],
			KnownHosts: cmp.Or(held["knownHosts"], held["known_hosts"]),
		}
	} else if ref := object.Spec.ConnectionRef; ref != nil {
		c, err := values.Connection(ref.Name)
		if err == nil && c == nil {
			err = errcode.New(errcode.Invalid, "%s: GitRepository %q: ScmConnection %s of spec.connectionRef is not among the files; add it", d.where, object.Name, ref.Name)
		}
		if err == nil {
			err = logIn(d, values, c, request)
		}
		if err != nil {
			return nil, err
		}
	}
	return &Item{Kind: d.meta.Kind, Name: object.Name, Where: d.where, Request: request, NotActing: set(map[string]bool{
		"spec.reconciliation": object.Spec.Reconciliation != nil,
	})}, nil
}

func (d document) cluster(values Values) (*Item, error) {
	var object v1alpha1.Cluster
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	spec := object.Spec
	handle := value(spec.Handle)
	if handle == "" {
		handle = object.Name
	}
	request := &hubv1.UpdateClusterRequest{Name: handle, Tags: spec.Tags, SetTags: spec.Tags != nil}
	if spec.Metadata != nil {
		request.Metadata, request.SetMetadata = string(spec.Metadata.Raw), true
	}
	access, byID, err := d.bindings(spec.Bindings, "cluster/"+handle, &hubv1.Place{Cluster: handle})
	made := MadeByProvider(&object)
	item := &Item{Kind: d.meta.Kind, Name: handle, Where: d.where, Cluster: request, Access: access, NotActing: append(byID, set(map[string]bool{
		"spec.disableAI":      spec.DisableAI != nil,
		"spec.reconciliation": spec.Reconciliation != nil,
		"spec.version":        spec.Version != nil && !made,
		"spec.providerRef":    spec.ProviderRef != nil && !made,
		"spec.projectRef":     spec.ProjectRef != nil && !made,
		"spec.cloud":          spec.Cloud != "" && !made,
		"spec.protect":        spec.Protect != nil,
		"spec.cloudSettings":  spec.CloudSettings != nil && !made,
		"spec.nodePools":      len(spec.NodePools) > 0 && !made,
	})...)}
	if err == nil && made {
		err = d.madeOf(&object, item, values)
	}
	return item, err
}

func (d document) service(values Values) (*Item, error) {
	var object v1alpha1.ServiceDeployment
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	spec := object.Spec
	name, cluster := value(spec.Name), value(spec.Cluster)
	if name == "" {
		name = object.Name
	}
	if cluster == "" && spec.ClusterRef != nil {
		cluster = spec.ClusterRef.Name
	}
	if cluster == "" {
		return nil, errcode.New(errcode.Invalid, "%s: ServiceDeployment %q names no cluster; set spec.cluster or spec.clusterRef", d.where, object.Name)
	}
	out, err := d.serviceSpec(values, spec, object.Namespace, object.Namespace)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "%s: ServiceDeployment %q: %w", d.where, object.Name, err)
	}
	item := &Item{Kind: d.meta.Kind, Name: cluster + "/" + name, Where: d.where, Service: &hubv1.ApplyServiceRequest{
		Ref: &hubv1.ServiceRef{Cluster: cluster, Name: name}, Spec: out,
		ParentId: object.Annotations["config.k8s.io/owning-inventory"],
	}}
	if spec.ProjectRef != nil {
		item.Service.Project = spec.ProjectRef.Name
	}
	access, byID, err := d.bindings(spec.Bindings, "service/"+item.Name, &hubv1.Place{Cluster: cluster, Service: name})
	item.Access = access
	item.NotActing = append(byID, set(map[string]bool{
		"spec.flowRef":        spec.FlowRef != nil,
		"spec.agentId":        spec.AgentID != nil,
		"spec.reconciliation": spec.Reconciliation != nil,
		"spec.paused":         spec.Paused != nil,
		"spec.pinnedRevision": spec.PinnedRevision != nil,
	})...)
	return item, err
}
