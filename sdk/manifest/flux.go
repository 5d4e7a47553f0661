package manifest

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/api/spec/convert"
	"github.com/axle-cd/axle/api/spec/kind"
	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
)

// FluxGroup is the API group of the sources of Flux.
const FluxGroup = "source.toolkit.fluxcd.io"

// FluxProject is the annotation of a source of Flux with the project of its repository
// in the hub; without it, that is the default one.
const FluxProject = kinds.Axle + "/project"

// FluxKinds are the kinds of sources that are read.
var FluxKinds = []string{"Bucket", "GitRepository", "HelmRepository", "OCIRepository"}

// FluxName is the name in the hub of the repository of a source that a service names. No
// two sources share one, because namespaces and kinds have no dots.
func FluxName(kind, namespace, name string) string {
	if namespace == "" {
		return strings.ToLower(kind) + "." + name
	}
	return strings.ToLower(kind) + "." + namespace + "." + name
}

// FluxSource is a source of Flux. Its fields are read leniently, because Flux adds some.
type FluxSource struct {
	// Kind, Namespace and Name are those of the object.
	Kind, Namespace, Name string
	// Repository is its name in the hub, Project the annotated project.
	Repository, Project string

	where string
	spec  fluxSpec
	// used says that a service names it, declared that a Repository does.
	used, declared bool
	// given are the fields of the spec that are set, for those that do not act.
	given map[string]json.RawMessage
}

type fluxName struct {
	Name string `json:"name"`
}

// fluxSpec has the fields of all four kinds.
type fluxSpec struct {
	URL             string   `json:"url"`
	Type            string   `json:"type"`
	Provider        string   `json:"provider"`
	Ref             fluxRef  `json:"ref"`
	SecretRef       fluxName `json:"secretRef"`
	CertSecretRef   fluxName `json:"certSecretRef"`
	ProxySecretRef  fluxName `json:"proxySecretRef"`
	PassCredentials bool     `json:"passCredentials"`
	Insecure        bool     `json:"insecure"`
	Suspend         bool     `json:"suspend"`
	Submodules      bool     `json:"recurseSubmodules"`
	Verify          *struct {
		Mode      string   `json:"mode"`
		Provider  string   `json:"provider"`
		SecretRef fluxName `json:"secretRef"`
	} `json:"verify"`
	LayerSelector struct {
		MediaType string `json:"mediaType"`
	} `json:"layerSelector"`
	BucketName string `json:"bucketName"`
	Endpoint   string `json:"endpoint"`
	Region     string `json:"region"`
	Prefix     string `json:"prefix"`
	Timeout    string `json:"timeout"`
}

type fluxRef struct {
	Branch       string `json:"branch"`
	Tag          string `json:"tag"`
	Semver       string `json:"semver"`
	SemverFilter string `json:"semverFilter"`
	Name         string `json:"name"`
	Commit       string `json:"commit"`
	Digest       string `json:"digest"`
}

// ReadFlux reads an object of Flux, as JSON. where names it in errors.
func ReadFlux(text []byte, where string) (*FluxSource, error) {
	var object struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Namespace   string            `json:"namespace"`
			Name        string            `json:"name"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Spec json.RawMessage `json:"spec"`
	}
	invalid := func(err error) error {
		return errcode.New(errcode.Invalid, "%s: a source of Flux cannot be read: %w", where, err)
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, invalid(err)
	}
	meta := object.Metadata
	s := &FluxSource{
		Kind: object.Kind, Namespace: meta.Namespace, Name: meta.Name, Project: meta.Annotations[FluxProject],
		Repository: FluxName(object.Kind, meta.Namespace, meta.Name), where: where,
	}
	if len(object.Spec) > 0 {
		if err := json.Unmarshal(object.Spec, &s.spec); err != nil {
			return nil, invalid(err)
		}
		if err := json.Unmarshal(object.Spec, &s.given); err != nil {
			return nil, invalid(err)
		}
	}
	return s, nil
}

// Suspended reports whether the source is suspended: nothing is changed then.
func (s *FluxSource) Suspended() bool { return s.spec.Suspend }

func (s *FluxSource) invalid(format string, args ...any) error {
	return errcode.New(errcode.Invalid, "%s: %s %q of Flux: "+format, append([]any{s.where, s.Kind, s.Name}, args...)...)
}

// Secrets are the names of the Secrets of its namespace that the source needs, by field.
func (s *FluxSource) Secrets() map[string]string {
	out := map[string]string{"spec.secretRef": s.spec.SecretRef.Name, "spec.certSecretRef": s.spec.CertSecretRef.Name, "spec.proxySecretRef": s.spec.ProxySecretRef.Name}
	if s.Kind == "GitRepository" {
		delete(out, "spec.certSecretRef")
	}
	if s.spec.Verify != nil {
		out["spec.verify.secretRef"] = s.spec.Verify.SecretRef.Name
	}
	for field, name := range out {
		if name == "" {
			delete(out, field)
		}
	}
	return out
}

// ref is what a service follows that names no ref itself.
func (s *FluxSource) ref() (string, error) {
	r := s.spec.Ref
	switch s.Kind {
	case "GitRepository":
		if at := cmp.Or(r.Commit, r.Name); at != "" {
			return at, nil
		}
		if r.Semver != "" {
			return "", s.invalid("spec.ref.semver %q: the hub follows no range of Git tags; set git.ref of the service to a branch or a tag", r.Semver)
		}
		return cmp.Or(r.Tag, r.Branch, "master"), nil
	case "OCIRepository":
		return cmp.Or(r.Digest, r.Semver, r.Tag, "latest"), nil
	}
	return "", nil
}

// acting are the fields of the sources that act.
var acting = map[string]string{
	"Bucket":         "provider bucketName endpoint region prefix insecure secretRef certSecretRef proxySecretRef suspend",
	"GitRepository":  "url ref secretRef provider proxySecretRef verify recurseSubmodules suspend",
	"HelmRepository": "url type secretRef certSecretRef passCredentials insecure provider suspend",
	"OCIRepository":  "url ref secretRef certSecretRef proxySecretRef provider verify insecure suspend",
}

const chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// notActing are the fields of the source that have no effect.
func (s *FluxSource) notActing() map[string]bool {
	out := map[string]bool{}
	for field := range s.given {
		acts := strings.Contains(" "+acting[s.Kind]+" ", " "+field+" ") || field == "timeout" && s.spec.Timeout == "60s" || // Flux's default
			field == "layerSelector" && s.spec.LayerSelector.MediaType == chartLayer
		out["source.spec."+field] = !acts
	}
	out["source.spec.ref.semverFilter"] = s.spec.Ref.SemverFilter != ""
	return out
}

// spec converts the parts of a service that all kinds have, with the sources of Flux that
// it names. Its own namespace is from.
func (d document) spec(values Values, t v1alpha1.ServiceDeploymentSpec, from string) (specv1.Spec, error) {
	out, err := kind.Spec(t)
	if err != nil {
		return out, err
	}
	if ref := t.SourceRef; ref != nil {
		s, err := d.source(values, "sourceRef", ref, from)
		if err != nil {
			return out, err
		}
		s.used = true
		if s.Kind == "HelmRepository" {
			if out.Helm == nil || out.Helm.Chart == "" {
				return out, errcode.New(errcode.Invalid, "sourceRef names a HelmRepository: set helm.chart, and helm.version")
			}
			out.Helm.Repository = s.Repository
		} else if err := s.into(&out.Git); err != nil {
			return out, err
		} else {
			out.Repository = s.Repository
		}
	}
	if t.Helm != nil && t.Helm.Repository != nil {
		ref := t.Helm.Repository
		s, err := values.Source("HelmRepository", cmp.Or(ref.Namespace, from), ref.Name)
		if err != nil {
			return out, err
		}
		if s != nil {
			s.used, out.Helm.Repository = true, s.Repository
		}
	}
	for i, one := range t.Sources {
		if one.SourceRef == nil {
			continue
		}
		s, err := d.source(values, "sources["+itoa(i)+"].sourceRef", one.SourceRef, from)
		if err != nil {
			return out, err
		}
		s.used = true
		to := &out.Sources[i]
		to.Repository = s.Repository
		if s.Kind == "HelmRepository" {
			continue
		}
		if err := s.into(&to.Git); err != nil {
			return out, err
		}
	}
	return out, nil
}

// into completes what a service says about the folder.
func (s *FluxSource) into(git **specv1.Git) error {
	g := cmp.Or(*git, &specv1.Git{})
	*git = g
	g.Submodules = g.Submodules || s.spec.Submodules
	if g.Folder == "" && s.Kind == "Bucket" {
		g.Folder = strings.Trim(s.spec.Prefix, "/")
	}
	if g.Ref != "" {
		return nil
	}
	var err error
	g.Ref, err = s.ref()
	return err
}

// source returns the source that a field names.
func (d document) source(values Values, field string, ref *v1alpha1.ObjectReference, from string) (*FluxSource, error) {
	s, err := values.Source(ref.Kind, cmp.Or(ref.Namespace, from), ref.Name)
	if err == nil && s == nil {
		if !slices.Contains(FluxKinds, ref.Kind) {
			return nil, errcode.New(errcode.Invalid, "%s.kind %q is none of %s", field, ref.Kind, strings.Join(FluxKinds, ", "))
		}
		err = errcode.New(errcode.Invalid, "%s: the %s %s of Flux is not among the files; add it", field, ref.Kind, cmp.Or(ref.Namespace, from)+"/"+ref.Name)
	}
	return s, err
}

// fluxRepository is the repository of a source. The item is that of a Repository.
func (d document) fluxRepository(values Values, s *FluxSource, name, project string, maxBytes int64) (*Item, error) {
	request, err := s.request(values)
	if err != nil {
		return nil, err
	}
	request.Name, request.Project = name, project
	request.Options.MaxBytes = maxBytes
	return &Item{Kind: "Repository", Name: name, Where: d.where, Request: request, NotActing: set(s.notActing())}, nil
}

// declare records the source of a Repository that names one: services use that
// Repository, and need none of their own.
func (f files) declare(d document) error {
	var object axlev1alpha1.Repository
	if d.meta.Kind != "Repository" || d.meta.APIVersion != axlev1alpha1.GroupVersion.String() {
		return nil
	}
	if err := d.strict(&object); err != nil || object.Spec.SourceRef == nil {
		return err
	}
	s, err := f.Source(object.Spec.SourceRef.Kind, object.Namespace, object.Spec.SourceRef.Name)
	if s != nil {
		s.Repository, s.declared = cmp.Or(value(object.Spec.Name), object.Name), true
	}
	return err
}

// repositories are the items of the sources that services name, and no Repository does.
func (f files) repositories() (items []Item, _ error) {
	for _, name := range slices.Sorted(maps.Keys(f.sources)) {
		s := f.sources[name]
		if !s.used || s.declared {
			continue
		}
		item, err := document{where: s.where}.fluxRepository(f, s, s.Repository, s.Project, 0)
		if err != nil {
			return nil, err
		}
		items = append(items, *item)
	}
	return items, nil
}

// isFlux reports whether the document is a source of Flux.
func isFlux(d document) bool {
	group, _, _ := strings.Cut(d.meta.APIVersion, "/")
	_, known := acting[d.meta.Kind]
	return group == FluxGroup && known
}

// serviceSpec is spec as the API has it.
func (d document) serviceSpec(values Values, t v1alpha1.ServiceDeploymentSpec, namespace, from string) (*hubv1.ServiceSpec, error) {
	declared, err := d.spec(values, t, from)
	if err != nil {
		return nil, err
	}
	declared.Namespace = cmp.Or(declared.Namespace, namespace)
	if err := chartValues(values, t.Helm, from, &declared); err != nil {
		return nil, err
	}
	if t.ConfigurationRef != nil {
		if declared.Secrets, err = d.secret(values, t.ConfigurationRef, from); err != nil {
			return nil, err
		}
	}
	if err := secretChartValues(values, t.Helm, from, &declared); err != nil {
		return nil, err
	}
	out := &hubv1.ServiceSpec{}
	convert.Copy(out, declared)
	return out, nil
}
