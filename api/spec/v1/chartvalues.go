package specv1

// ChartValues is the key of the secret that holds values for the service's chart, as a
// JSON object. They override Helm.Values, and templates do not see them.
const ChartValues = "helm.valuesFrom"
