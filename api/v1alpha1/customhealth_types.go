package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CustomHealth is a rule, written in Lua or CEL, that determines the health of
// objects of one kind, or of every kind without a rule. The agent of the
// cluster uses it at once.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axch
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.group`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.kind`
type CustomHealth struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CustomHealthSpec `json:"spec"`
	Status Status           `json:"status,omitempty"`
}

// CustomHealthSpec says which objects the rule is for, and how it determines
// their health.
//
// +kubebuilder:validation:XValidation:rule="(has(self.kind) && size(self.kind) > 0) || ((!has(self.group) || size(self.group) == 0) && (!has(self.version) || size(self.version) == 0))",message="a rule without a kind has no group or version either"
// +kubebuilder:validation:XValidation:rule="!has(self.script) || size(self.script) == 0 || !has(self.expressions)",message="a rule has a script or expressions, not both"
type CustomHealthSpec struct {
	// Group of the kind; empty for the core group.
	Group string `json:"group,omitempty"`
	// Version of the kind; empty for all its versions. A rule that names the
	// version has precedence.
	Version string `json:"version,omitempty"`
	// Kind of the objects. Empty, with empty group and version, for every kind
	// that neither another rule nor the agent knows.
	Kind string `json:"kind,omitempty"`
	// Script in Lua. It either reads the object as obj and returns a table with
	// status and message, or reads it as Obj and sets healthStatus to that table.
	// +kubebuilder:validation:MaxLength=65536
	Script string `json:"script,omitempty"`
	// Expressions in CEL, instead of a script.
	Expressions *CustomHealthExpressions `json:"expressions,omitempty"`
}

// CustomHealthExpressions determine the health of an object. All but the
// message are booleans and are evaluated in this order: suspended, inProgress,
// failed, current. The first that is true gives the status; if none is, the
// object is Progressing. They read the object as obj, and its apiVersion, kind,
// metadata, spec, status and data by these names. They are Flux's
// healthCheckExprs, with suspended and message in addition.
type CustomHealthExpressions struct {
	// Suspended is true for an object that is suspended on purpose.
	// +kubebuilder:validation:MaxLength=16384
	Suspended string `json:"suspended,omitempty"`
	// InProgress is true for an object that is Progressing.
	// +kubebuilder:validation:MaxLength=16384
	InProgress string `json:"inProgress,omitempty"`
	// Failed is true for an object that is Degraded.
	// +kubebuilder:validation:MaxLength=16384
	Failed string `json:"failed,omitempty"`
	// Current is true for an object that is Healthy. Required; every expression
	// has at most 16 KiB.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Current string `json:"current"`
	// Message is a text with the reason.
	// +kubebuilder:validation:MaxLength=16384
	Message string `json:"message,omitempty"`
}
