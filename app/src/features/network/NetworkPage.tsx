// How the service, its index and the program are, as the service says it and as the chain shows it.

import { useQuery } from '@tanstack/react-query';

import { networkQuery, statusQuery } from '../../shared/api/queries';
import { Failure } from '../../shared/ui/Failure';
import { Page } from '../../shared/ui/Page';
import { SectionBoundary } from '../../shared/ui/SectionBoundary';
import { Skeleton } from '../../shared/ui/Skeleton';
import { AuditSection } from './AuditSection';
import { CreatorsSection } from './CreatorsSection';
import { MarketSection } from './MarketSection';
import { ProgramSection } from './program/ProgramSection';
import { ServiceSection } from './ServiceSection';
import { StatusSection } from './StatusSection';
import { TotalsSection } from './totals/TotalsSection';
import { SELDOM_MS } from '../../shared/seldom';
import { words } from './words';

/** What is known stays on the page while the service does not answer. */
export function NetworkPage() {
    const { data: status, error, refetch } = useQuery({ ...statusQuery, refetchInterval: SELDOM_MS });
    const { data: network, error: networkError, refetch: refetchNetwork } = useQuery(networkQuery);
    return (
        <Page title={words.title}>
            {error && <Failure error={error} onRetry={() => void refetch()} />}
            {status ? (
                <>
                    <SectionBoundary name={words.sections.status}>
                        <StatusSection status={status} />
                    </SectionBoundary>
                    <SectionBoundary name={words.sections.totals}>
                        <TotalsSection counts={status.counts} />
                    </SectionBoundary>
                    <SectionBoundary name={words.sections.audit}>
                        <AuditSection status={status} />
                    </SectionBoundary>
                    <SectionBoundary name={words.sections.service}>
                        <ServiceSection status={status} />
                    </SectionBoundary>
                </>
            ) : (
                !error && <Skeleton height="60rem" />
            )}
            {networkError && <Failure error={networkError} onRetry={() => void refetchNetwork()} />}
            {network ? (
                <>
                    <SectionBoundary name={words.sections.market}>
                        <MarketSection network={network} />
                    </SectionBoundary>
                    <SectionBoundary name={words.sections.program}>
                        <ProgramSection network={network} />
                    </SectionBoundary>
                    <SectionBoundary name={words.sections.creators}>
                        <CreatorsSection network={network} />
                    </SectionBoundary>
                </>
            ) : (
                !networkError && <Skeleton height="60rem" />
            )}
        </Page>
    );
}
