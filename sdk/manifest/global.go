package manifest

import (
	"cmp"
	"fmt"
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
	spec, template := object.Spec, object.Spec.Template
	if template == nil {
		return invalid("spec.template is missing; spec.serviceRef, which copies a ServiceDeployment, has no effect yet")
	}
	out, err := d.template(values, *template, object.Namespace, object.Namespace)
	if err != nil {
		return invalid("%w", err)
	}
	settings := &hubv1.GlobalServiceSettings{
		Tags: spec.Tags, Distro: value(spec.Distro), Mgmt: spec.Mgmt, IgnoreClusters: spec.IgnoreClusters, Reparent: value(spec.Reparent),
		Cascade: cascade(spec.Cascade),
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
		"spec.providerRef":                      spec.ProviderRef != nil,
		"spec.serviceRef":                       spec.ServiceRef != nil,
		"spec.reconciliation":                   spec.Reconciliation != nil,
		"spec.template.helm.valuesFrom":         template.Helm != nil && template.Helm.ValuesFrom != nil,
		"spec.template.helm.valuesConfigMapRef": template.Helm != nil && template.Helm.ValuesConfigMapRef != nil,
	})}, nil
}

// rollout converts the plan of a rollout. Errors begin with the field.
func rollout(in *v1alpha1.GlobalRollout) (out *hubv1.RolloutPlan, err error) {
	if in == nil {
		return nil, nil
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
