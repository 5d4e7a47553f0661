package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CustomHealth is a rule, written in Lua, that says how well objects of one
// kind are, or objects of every kind that has no rule. The agent of the cluster
// takes it at once.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.group`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.kind`
type CustomHealth struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec CustomHealthSpec `json:"spec"`
	// +optional
	Status Status `json:"status,omitempty"`
}

// CustomHealthSpec says which objects the rule judges, and how.
//
// +kubebuilder:validation:XValidation:rule="(has(self.kind) && size(self.kind) > 0) || ((!has(self.group) || size(self.group) == 0) && (!has(self.version) || size(self.version) == 0))",message="a rule without a kind has no group or version either"
type CustomHealthSpec struct {
	// Group of the kind; empty for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// Version of the kind; empty for all its versions.
	// +optional
	Version string `json:"version,omitempty"`
	// Kind that is judged. Empty for every kind that no other rule knows.
	// +optional
	Kind string `json:"kind,omitempty"`
	// Script in Lua. It sees the object as obj and returns a table with status
	// and message, or sees it as Obj and leaves that table in healthStatus.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Script string `json:"script,omitempty"`
}

// CustomHealthList is a list of CustomHealth.
//
// +kubebuilder:object:root=true
type CustomHealthList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CustomHealth `json:"items"`
}
