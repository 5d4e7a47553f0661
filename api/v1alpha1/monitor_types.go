package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Monitor evaluates a query of logs or metrics on a schedule and raises an
// alert when a threshold is crossed.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axmon
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Severity",type=string,JSONPath=`.spec.severity`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Monitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec MonitorSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "Nothing is queried and no alert is raised: the hub has no monitors yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// MonitorSpec is the query and the threshold.
//
// +kubebuilder:validation:XValidation:rule="has(self.serviceRef) != has(self.service)",message="name the service by serviceRef or by service, one of the two"
type MonitorSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// ServiceRef is the ServiceDeployment that the monitor belongs to.
	ServiceRef *ObjectReference `json:"serviceRef,omitempty"`
	// Service as CLUSTER/NAME, instead of serviceRef.
	// +kubebuilder:validation:Pattern=`^[^/]+/[^/]+$`
	Service *string `json:"service,omitempty"`
	// WorkbenchRef is the Workbench that investigates an alert.
	WorkbenchRef *ObjectReference `json:"workbenchRef,omitempty"`
	// Prompt for the model.
	// +kubebuilder:validation:MaxLength=2048
	Prompt *string `json:"prompt,omitempty"`
	// Modes of the run of the Workbench.
	Modes *WorkbenchJobModes `json:"modes,omitempty"`
	// Description in plain text.
	Description *string `json:"description,omitempty"`
	// AlertTemplate is the text of an alert.
	AlertTemplate *string `json:"alertTemplate,omitempty"`
	// Severity of an alert.
	// +kubebuilder:validation:Enum=LOW;MEDIUM;HIGH;CRITICAL;UNDEFINED
	Severity string `json:"severity"`
	// Type selects the field of query that is used.
	// +kubebuilder:validation:Enum=LOG;METRICS
	Type string `json:"type"`
	// EvaluationCron says when the query is evaluated: a cron expression with five
	// fields.
	// +kubebuilder:validation:MinLength=1
	EvaluationCron string `json:"evaluationCron"`
	// Query of logs or metrics.
	Query MonitorQuery `json:"query"`
	// Threshold that raises an alert.
	Threshold MonitorThreshold `json:"threshold"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// MonitorThreshold is the threshold of a monitor.
type MonitorThreshold struct {
	// Aggregate of the results that is compared.
	// +kubebuilder:validation:Enum=MAX;MIN;AVG
	Aggregate string `json:"aggregate"`
	// Value to compare with, a decimal number.
	// +kubebuilder:validation:Pattern=`^-?[0-9]+(\.[0-9]+)?$`
	Value string `json:"value"`
}

// MonitorQuery is the query of a monitor; set one of the two fields.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.log) && has(self.metrics))",message="set log or metrics, not both"
type MonitorQuery struct {
	// Log queries logs.
	Log *MonitorLog `json:"log,omitempty"`
	// Metrics queries metrics.
	Metrics *MonitorMetrics `json:"metrics,omitempty"`
}

// MonitorLog queries logs.
type MonitorLog struct {
	// Tool is the name of a WorkbenchTool; unset is the hub's own logs.
	Tool *string `json:"tool,omitempty"`
	// Query of the logs.
	// +kubebuilder:validation:MinLength=1
	Query string `json:"query"`
	// BucketSize is the size of the intervals in which entries are counted, such
	// as 5m.
	// +kubebuilder:validation:Pattern=`^[0-9]+[dmhs]$`
	BucketSize string `json:"bucketSize"`
	// Duration of the period that is read, such as 1h.
	// +kubebuilder:validation:Pattern=`^[0-9]+[dmhs]$`
	Duration *string `json:"duration,omitempty"`
	// Operator that combines several words.
	// +kubebuilder:validation:Enum=OR;AND
	// +kubebuilder:default=OR
	Operator *string `json:"operator,omitempty"`
	// Facets that entries must have.
	Facets []MonitorFacet `json:"facets,omitempty"`
	// Options of the provider of the logs.
	Options *MonitorLogOptions `json:"options,omitempty"`
}

// MonitorFacet is a key and a value that a log entry must have.
type MonitorFacet struct {
	// Key of the facet.
	Key string `json:"key"`
	// Value of the facet.
	Value string `json:"value"`
}

// MonitorLogOptions are options of the provider of the logs.
type MonitorLogOptions struct {
	// Azure are the options for Azure.
	Azure *MonitorLogAzure `json:"azure,omitempty"`
}

// MonitorLogAzure are options for logs of Azure.
type MonitorLogAzure struct {
	// ResourceID of the resource whose logs are queried.
	ResourceID *string `json:"resourceId,omitempty"`
}

// MonitorMetrics queries metrics.
type MonitorMetrics struct {
	// Tool is the name of a WorkbenchTool; unset is the hub's own metrics.
	Tool *string `json:"tool,omitempty"`
	// Query of the metrics.
	// +kubebuilder:validation:MinLength=1
	Query string `json:"query"`
	// Step between two values, such as 5m.
	// +kubebuilder:validation:Pattern=`^[0-9]+[dmhs]$`
	Step *string `json:"step,omitempty"`
	// Duration of the period that is read, such as 1h.
	// +kubebuilder:validation:Pattern=`^[0-9]+[dmhs]$`
	Duration *string `json:"duration,omitempty"`
	// Options of the provider of the metrics.
	Options *MonitorMetricsOptions `json:"options,omitempty"`
}

// MonitorMetricsOptions are options of the provider of the metrics.
type MonitorMetricsOptions struct {
	// Azure are the options for Azure.
	Azure *MonitorMetricsAzure `json:"azure,omitempty"`
}

// MonitorMetricsAzure are options for metrics of Azure.
type MonitorMetricsAzure struct {
	// ResourceID of the resource whose metrics are queried.
	ResourceID *string `json:"resourceId,omitempty"`
	// MetricsNamespace of the metrics.
	MetricsNamespace *string `json:"metricsNamespace,omitempty"`
	// Aggregation of the metrics.
	Aggregation *string `json:"aggregation,omitempty"`
	// Filter of the metrics.
	Filter *string `json:"filter,omitempty"`
	// OrderBy of the metrics.
	OrderBy *string `json:"orderBy,omitempty"`
	// RollUpBy is a dimension to aggregate over.
	RollUpBy *string `json:"rollUpBy,omitempty"`
	// MetricsEndpoint is the endpoint of the metrics API.
	MetricsEndpoint *string `json:"metricsEndpoint,omitempty"`
}

// Dashboard is a page of graphs of a Workbench.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axdash
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Workbench",type=string,JSONPath=`.spec.workbenchRef.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Dashboard struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec DashboardSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "Nothing is shown: the hub has no workbenches yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// DashboardSpec holds the graphs.
type DashboardSpec struct {
	// WorkbenchRef is the Workbench. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="workbenchRef cannot be changed: create another dashboard"
	WorkbenchRef ObjectReference `json:"workbenchRef"`
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Description in plain text.
	Description *string `json:"description,omitempty"`
	// Graphs of the page.
	// +kubebuilder:validation:MaxItems=200
	// +listType=map
	// +listMapKey=identifier
	Graphs []DashboardGraph `json:"graphs,omitempty"`
	// Inputs that a viewer can choose.
	// +listType=map
	// +listMapKey=name
	Inputs []DashboardInput `json:"inputs,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// DashboardGraph is one graph of a page.
type DashboardGraph struct {
	// Identifier of the graph on its page.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Identifier string `json:"identifier"`
	// Title of the graph.
	Title *string `json:"title,omitempty"`
	// Description in plain text.
	Description *string `json:"description,omitempty"`
	// Type of the graph.
	// +kubebuilder:validation:Enum=TIMESERIES;GAUGE;LOGS;MARKDOWN;TABLE;STAT;BAR;PIE;HEATMAP;TRACES;SECTION
	Type string `json:"type"`
	// SectionID is the identifier of the graph of type SECTION that contains this
	// one.
	// +kubebuilder:validation:MaxLength=128
	SectionID *string `json:"sectionId,omitempty"`
	// Markdown is the text of a graph of type MARKDOWN.
	Markdown *string `json:"markdown,omitempty"`
	// Options of the graph, any JSON object.
	// +kubebuilder:pruning:PreserveUnknownFields
	Options *runtime.RawExtension `json:"options,omitempty"`
	// Layout is the graph's place on the page.
	Layout DashboardLayout `json:"layout"`
	// Datasource is the source of the graph's data.
	Datasource *DashboardDatasource `json:"datasource,omitempty"`
}

// DashboardLayout is a graph's place on its page.
type DashboardLayout struct {
	// X is the column, counted from 0.
	// +kubebuilder:validation:Minimum=0
	X int64 `json:"x"`
	// Y is the row, counted from 0.
	// +kubebuilder:validation:Minimum=0
	Y int64 `json:"y"`
	// W is the width in columns.
	// +kubebuilder:validation:Minimum=1
	W int64 `json:"w"`
	// H is the height in rows.
	// +kubebuilder:validation:Minimum=1
	H int64 `json:"h"`
}

// DashboardDatasource is the source of a graph's data.
type DashboardDatasource struct {
	// Type of the data.
	// +kubebuilder:validation:Enum=LOGS;METRICS;TRACES;LABELS
	Type string `json:"type"`
	// Tool is the name of a WorkbenchTool.
	// +kubebuilder:validation:MinLength=1
	Tool string `json:"tool"`
	// Input for the tool, any JSON object.
	// +kubebuilder:pruning:PreserveUnknownFields
	Input *runtime.RawExtension `json:"input"`
}

// DashboardInput is a value that a viewer can choose.
type DashboardInput struct {
	// Name of the value.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Label of the field.
	Label *string `json:"label,omitempty"`
	// Description in plain text.
	Description *string `json:"description,omitempty"`
	// Type of the field.
	// +kubebuilder:validation:Enum=TEXT;NUMBER;BOOLEAN;SELECT;MULTI_SELECT;TIME_RANGE
	Type string `json:"type"`
	// Default of the value.
	Default *string `json:"default,omitempty"`
	// Options of a SELECT.
	Options []string `json:"options,omitempty"`
	// Required refuses an empty value.
	Required *bool `json:"required,omitempty"`
	// Datasource of the options.
	Datasource *DashboardDatasource `json:"datasource,omitempty"`
}
