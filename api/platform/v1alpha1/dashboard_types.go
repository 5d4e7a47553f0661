package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Dashboard is a page of graphs for an application, drawn from the metrics of the cluster that it
// is in.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axdb
// +kubebuilder:printcolumn:name="Title",type=string,JSONPath=`.spec.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Dashboard struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec DashboardSpec `json:"spec"`
}

// DashboardSpec has the variables, the time ranges and the graphs of a dashboard.
type DashboardSpec struct {
	// Name is the title. The name of the object if it is empty.
	// +kubebuilder:validation:MaxLength=200
	Name string `json:"name,omitempty"`
	// Description is one line below the title.
	// +kubebuilder:validation:MaxLength=2000
	Description string `json:"description,omitempty"`
	// Timeslices are the time ranges to choose from, like 30m, 1h, 7d.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	Timeslices []string `json:"timeslices,omitempty"`
	// DefaultTime is the time range at first. The first of timeslices if it is
	// empty, or 1h.
	// +kubebuilder:validation:MaxLength=20
	DefaultTime string `json:"defaultTime,omitempty"`
	// Labels are the variables. A query takes the value of one by $name, in the
	// value of a matcher.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	Labels []DashboardLabel `json:"labels,omitempty"`
	// Graphs in the order in which they are drawn, at most 100.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	Graphs []DashboardGraph `json:"graphs,omitempty"`
}

// DashboardLabel is a variable with the values that people choose from: those of the list, or
// those that a query finds.
type DashboardLabel struct {
	// Name of the variable: letters, digits and _, without the $.
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	// +kubebuilder:validation:MaxLength=100
	Name string `json:"name"`
	// Values to choose from. The first is chosen at first.
	// +kubebuilder:validation:MaxItems=1000
	// +listType=atomic
	Values []string `json:"values,omitempty"`
	// Query finds the values instead.
	Query *DashboardLabelQuery `json:"query,omitempty"`
}

// DashboardLabelQuery finds the values of a variable.
type DashboardLabelQuery struct {
	// Query in PromQL. It may take the variables before this one.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10000
	Query string `json:"query"`
	// Label of the series found that has the value.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	Label string `json:"label"`
}

// DashboardGraph is one graph.
type DashboardGraph struct {
	// Name is the heading of the graph.
	// +kubebuilder:validation:MaxLength=200
	Name string `json:"name"`
	// Format of the values: bytes, percent, or none for plain numbers. The values of percent
	// are fractions: 0.5 is 50 %.
	// +kubebuilder:validation:Enum=bytes;percent;none
	Format string `json:"format,omitempty"`
	// Queries of the graph. Each draws a line for every series that it finds.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	Queries []DashboardQuery `json:"queries"`
}

// DashboardQuery is a query with the names of its lines.
type DashboardQuery struct {
	// Query in PromQL.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10000
	Query string `json:"query"`
	// Legend is the name of the line.
	// +kubebuilder:validation:MaxLength=500
	Legend string `json:"legend,omitempty"`
	// LegendFormat is the name of each line, with the labels of its series by
	// $label. It has precedence over the legend.
	// +kubebuilder:validation:MaxLength=500
	LegendFormat string `json:"legendFormat,omitempty"`
}
