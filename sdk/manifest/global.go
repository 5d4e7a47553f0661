package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
)

// global converts a GlobalService. In the hub it has the name of its services: that
// of the template, of the spec, or of the object.
func (d document) global(values Values) (*Item, error) {
	var object v1alpha1.GlobalService
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	invalid := func(format string, args ...any) (*Item, error) {
		return nil, errcode.New(errcode.Invalid, "%s: GlobalService %q: "+format, append([]any{d.where, object.Name}, args...)...)
	}
	spec := object.Spec
	if (spec.Template == nil) == (spec.ServiceRef == nil) {
		return invalid("set serviceRef or template, one of the two")
	}
	template, from, err := d.templateOf(values, object)
	if err != nil {
		return invalid("%w", err)
	}
	out, err := d.template(values, *template, from, from)
	if err != nil {
		return invalid("%w", err)
	}
	settings := &hubv1.GlobalServiceSettings{
		Tags: spec.Tags, Distro: value(spec.Distro), Mgmt: spec.Mgmt, IgnoreClusters: spec.IgnoreClusters, Reparent: value(spec.Reparent),
		Cascade: cascade(spec.Cascade),
	}
	if spec.ServiceRef != nil {
		literal(out)
		if settings.IgnoreClusters, err = d.apartFrom(values, object); err != nil {
			return invalid("%w", err)
		}
	}
	if spec.ProjectRef != nil {
		settings.Project = spec.ProjectRef.Name
	}
	if spec.Interval != nil {
		interval, err := time.ParseDuration(*spec.Interval)
		if err != nil {
			return invalid("spec.interval: %w", err)
		}
		settings.IntervalMicros = interval.Microseconds()
	}
	if settings.Rollout, err = rollout(spec.Rollout); err != nil {
		return invalid("spec.rollout.%w", err)
	}
	if spec.Context != nil && spec.Context.Raw != nil {
		settings.Context = strings.TrimSpace(string(spec.Context.Raw.Raw))
	}
	name := cmp.Or(value(template.Name), value(spec.Name), object.Name)
	return &Item{Kind: d.meta.Kind, Name: name, Where: d.where, Global: &hubv1.ApplyGlobalServiceRequest{Name: name, Settings: settings, Spec: out}, NotActing: set(map[string]bool{
		"spec.providerRef":    spec.ProviderRef != nil,
		"spec.reconciliation": spec.Reconciliation != nil,
	})}, nil
}

// templateOf is what runs: the template, or that of the ServiceDeployment which serviceRef
// names, under the name of its service. Secrets and sources are in the namespace from.
func (d document) templateOf(values Values, object v1alpha1.GlobalService) (_ *v1alpha1.ServiceTemplate, from string, _ error) {
	if object.Spec.Template != nil {
		return object.Spec.Template, object.Namespace, nil
	}
	s, err := d.copied(values, object)
	if err != nil {
		return nil, "", err
	}
	template := s.Spec.ServiceTemplate
	template.Name = new(cmp.Or(value(template.Name), s.Name))
	return &template, s.Namespace, nil
}

// copied is the ServiceDeployment that serviceRef names.
func (d document) copied(values Values, object v1alpha1.GlobalService) (*v1alpha1.ServiceDeployment, error) {
	ref := object.Spec.ServiceRef
	namespace := cmp.Or(ref.Namespace, object.Namespace)
	s, err := values.Service(namespace, ref.Name)
	if err == nil && s == nil {
		err = errcode.New(errcode.Invalid, "ServiceDeployment %s of spec.serviceRef is not among the files; add it, so that its spec can be copied", namespace+"/"+ref.Name)
	}
	return s, err
}

// apartFrom are the clusters that a copy of a service is not on: those that are ignored,
// and the cluster of the service itself.
func (d document) apartFrom(values Values, object v1alpha1.GlobalService) ([]string, error) {
	s, err := d.copied(values, object)
	if err != nil {
		return nil, err
	}
	ignored, own := object.Spec.IgnoreClusters, cmp.Or(value(s.Spec.Cluster), value(s.Spec.ClusterRef).Name)
	if own != "" && !slices.Contains(ignored, own) {
		ignored = append(slices.Clone(ignored), own)
	}
	return ignored, nil
}

// literal keeps the braces of a copied spec: in a template they are Liquid, in a service
// they are not.
func literal(s *hubv1.ServiceSpec) {
	var texts []*string
	git := func(g *hubv1.Git) {
		if g != nil {
			texts = append(texts, &g.Ref, &g.Folder)
		}
	}
	git(s.GetGit())
	for _, source := range s.GetSources() {
		git(source.GetGit())
	}
	if h := s.GetHelm(); h != nil {
		texts = append(texts, &h.Version, &h.Chart, &h.LuaScript)
		for i := range h.GetValuesFiles() {
			texts = append(texts, &h.ValuesFiles[i])
		}
	}
	for _, text := range texts {
		if strings.Contains(*text, "{{") || strings.Contains(*text, "{%") {
			*text = "{% raw %}" + *text + "{% endraw %}"
		}
	}
}

// rollout converts the plan of a rollout. Errors begin with the field.
func rollout(in *v1alpha1.GlobalRollout) (out *hubv1.RolloutPlan, err error) {
	if in == nil {
		return nil, nil
	}
	if len(in.Waves) == 0 {
		return nil, errors.New("waves: name at least one; a change reaches all clusters at once without spec.rollout")
	}
	out = &hubv1.RolloutPlan{Waves: in.Waves, MaxUnavailable: value(in.MaxUnavailable)}
	for name, of := range map[string]struct {
		text *string
		to   *int64
	}{"soak": {in.Soak, &out.SoakMicros}, "failAfter": {in.FailAfter, &out.FailAfterMicros}} {
		if of.text == nil {
			continue
		}
		d, err := time.ParseDuration(*of.text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		*of.to = d.Microseconds()
	}
	if in.MaxFailed != nil {
		n, err := strconv.ParseInt(strings.TrimSuffix(*in.MaxFailed, "%"), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("maxFailed: %q is not a percentage", *in.MaxFailed)
		}
		out.FailPercent = int32(n)
	}
	return out, nil
}

// exportedRollout is the inverse of rollout.
func exportedRollout(in *hubv1.RolloutPlan) *v1alpha1.GlobalRollout {
	out := &v1alpha1.GlobalRollout{Waves: in.GetWaves(), MaxUnavailable: unlessZero(in.GetMaxUnavailable())}
	if soak := in.GetSoakMicros(); soak != 0 {
		out.Soak = unlessZero((time.Duration(soak) * time.Microsecond).String())
	}
	if late := in.GetFailAfterMicros(); late != 0 {
		out.FailAfter = unlessZero((time.Duration(late) * time.Microsecond).String())
	}
	if percent := in.GetFailPercent(); percent != 0 {
		out.MaxFailed = unlessZero(strconv.Itoa(int(percent)) + "%")
	}
	return out
}

// template converts what runs. Its Secret is in the namespace of the object that has it,
// and its objects in their own namespace, or else in this one.
func (d document) template(values Values, t v1alpha1.ServiceTemplate, namespace, from string) (*hubv1.ServiceSpec, error) {
	return d.serviceSpec(values, v1alpha1.ServiceDeploymentSpec{ServiceTemplate: t}, namespace, from)
}
