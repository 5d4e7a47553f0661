import { useCluster } from './useCluster'
import { ServiceList } from '#/pages/services/ServiceList'

export function Page() {
  const { name } = useCluster()
  return <ServiceList key={name} cluster={name} />
}
