package manifest

import (
	"cmp"
	"encoding/json"
	"slices"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
)

// MadeByProvider reports whether a Cluster declares a cluster that the hub makes from the
// template of a Provider.
func MadeByProvider(c *v1alpha1.Cluster) bool {
	return c.Spec.ProviderRef != nil && c.Spec.ProviderRef.Name != "" && c.Annotations[v1alpha1.SyncedCluster] == ""
}

// templatedClouds are the clouds that Axle has templates for.
var templatedClouds = []string{"aws", "gcp"}

// clusterTemplate is the name of the cluster template of a Provider.
func (d document) clusterTemplate(p *v1alpha1.Provider) (string, error) {
	if !slices.Contains(templatedClouds, p.Spec.Cloud) {
		return "", errcode.New(errcode.Invalid, "%s: Provider %q: spec.cloud: there is no cluster template for %s yet; templates are for aws (eks) and gcp (gke)", d.where, p.Name, p.Spec.Cloud)
	}
	return cmp.Or(p.Spec.Name, p.Name), nil
}

// provider is a cluster template by another name. It is nothing in the hub itself: in files
// it is read with the Clusters that name it.
func (d document) provider(values Values) (*Item, error) {
	var object v1alpha1.Provider
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	template, err := d.clusterTemplate(&object)
	if _, inFiles := values.(files); inFiles || err != nil {
		return nil, err
	}
	return &Item{Kind: d.meta.Kind, Name: template, Where: d.where, Request: &hubv1.GetClusterTemplateRequest{Name: template}, NotActing: set(map[string]bool{
		"spec.cloudSettings": object.Spec.CloudSettings != nil,
		"spec.namespace":     object.Spec.Namespace != "",
	})}, nil
}

// madeOf adds to an item what makes the cluster. Fields of the object are variables of their
// names, as values: the hub refuses those that the template does not have.
func (d document) madeOf(c *v1alpha1.Cluster, item *Item, values Values) error {
	invalid := func(format string, args ...any) error {
		return errcode.New(errcode.Invalid, "%s: Cluster %q: "+format, append([]any{d.where, c.Name}, args...)...)
	}
	spec := c.Spec
	p, err := values.Provider(spec.ProviderRef.Name)
	if err == nil && p == nil {
		err = invalid("Provider %s of spec.providerRef is not among the files; add it", spec.ProviderRef.Name)
	}
	if err != nil {
		return err
	}
	template, err := d.clusterTemplate(p)
	if err != nil {
		return err
	}
	if spec.Cloud != "" && spec.Cloud != p.Spec.Cloud {
		return invalid("spec.cloud is %s, and Provider %s is of %s", spec.Cloud, p.Name, p.Spec.Cloud)
	}
	variables, err := variablesOf(spec)
	if err != nil {
		return invalid("%w", err)
	}
	text, err := json.Marshal(variables)
	if err != nil {
		return invalid("%w", err)
	}
	item.Cluster.Variables = string(text)
	item.Request = &hubv1.CreateClusterRequest{
		Name: item.Name, Project: value(spec.ProjectRef).Name, Tags: spec.Tags, Metadata: item.Cluster.GetMetadata(),
		FromTemplate: &hubv1.FromTemplate{Template: template, Variables: item.Cluster.GetVariables()},
	}
	return nil
}

// variablesOf are the variables that the fields of a Cluster stand for.
func variablesOf(spec v1alpha1.ClusterSpec) (map[string]any, error) {
	variables := map[string]any{}
	if version := value(spec.Version); version != "" {
		if version[0] >= '0' && version[0] <= '9' {
			version = "v" + version
		}
		variables["version"] = version
	}
	if s := spec.CloudSettings; s != nil {
		for cloud, of := range map[string]any{"aws": s.AWS, "azure": s.Azure, "gcp": s.GCP} {
			if cloud == cmp.Or(spec.Cloud, cloud) {
				if err := fieldsInto(variables, of); err != nil {
					return nil, err
				}
			}
		}
	}
	var pools []any
	for _, pool := range spec.NodePools {
		of, settings := map[string]any{}, value(pool.CloudSettings)
		pool.CloudSettings = nil
		if err := fieldsInto(of, pool); err != nil {
			return nil, err
		}
		if err := fieldsInto(of, settings.AWS); err != nil {
			return nil, err
		}
		pools = append(pools, of)
	}
	if len(pools) > 0 {
		variables["nodePools"] = pools
	}
	return variables, nil
}

// fieldsInto adds the fields of an object of JSON to others.
func fieldsInto(variables map[string]any, of any) error {
	text, err := json.Marshal(of)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, &variables) // null adds nothing
}
