package agentv1

import (
	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/api/spec/convert"
	specv1 "github.com/axle-cd/axle/api/spec/v1"
)

// Values that the hub collects from several places travel in fields of ServiceSpec that
// have the names of those that declare them.
var (
	toAgent   = convert.Form{Tag: "agent", Renamed: map[string]string{"Spec.configuration": "", "Spec.contexts": "", "Spec.imports": ""}}
	fromAgent = convert.Form{Renamed: map[string]string{
		"ServiceSpec.configuration": "", "ServiceSpec.secrets": "", "ServiceSpec.contexts": "", "ServiceSpec.imports": "",
	}}
)

// Deliver returns what agents get of a declared spec. The hub adds the rest.
func Deliver(spec specv1.Spec) *ServiceSpec {
	out, settings := &ServiceSpec{Render: &Render{}}, &Settings{}
	for _, into := range []any{out, out.Render, settings} {
		toAgent.Copy(into, spec)
	}
	if proto.Size(settings) > 0 {
		out.Settings = settings
	}
	return out
}

// Declared returns what Deliver got, as far as agents act on it. An older hub leaves
// newer fields unset.
func (x *ServiceSpec) Declared() specv1.Spec {
	var spec specv1.Spec
	if x == nil {
		return spec
	}
	fromAgent.Copy(&spec, x)
	if x.Render != nil {
		fromAgent.Copy(&spec, x.Render)
	}
	if x.Settings != nil {
		fromAgent.Copy(&spec, x.Settings)
	}
	return spec
}
