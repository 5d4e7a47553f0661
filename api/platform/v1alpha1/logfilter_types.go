package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LogFilter is a query for logs that an application brings along, for the store of logs of
// the cluster that it is in.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axlf
// +kubebuilder:printcolumn:name="Title",type=string,JSONPath=`.spec.name`
// +kubebuilder:printcolumn:name="Query",type=string,JSONPath=`.spec.query`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type LogFilter struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec LogFilterSpec `json:"spec"`
}

// LogFilterSpec has the query and its labels.
type LogFilterSpec struct {
	// Name is the title. The name of the object if it is empty.
	// +kubebuilder:validation:MaxLength=200
	Name string `json:"name,omitempty"`
	// Description is one line below the title.
	// +kubebuilder:validation:MaxLength=2000
	Description string `json:"description,omitempty"`
	// Query in LogQL: matchers, such as {app="web"}, and the filters of lines |= != |~ and
	// !~. The rest of LogQL is refused when the query is asked.
	// +kubebuilder:validation:MaxLength=10000
	Query string `json:"query,omitempty"`
	// Labels are further matchers, each of one value.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	Labels []LogFilterLabel `json:"labels,omitempty"`
}

// LogFilterLabel is a label and its value.
type LogFilterLabel struct {
	// Name of the label.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	Name string `json:"name"`
	// Value that it must have.
	// +kubebuilder:validation:MaxLength=1000
	Value string `json:"value,omitempty"`
}
